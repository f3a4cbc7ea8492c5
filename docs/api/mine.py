from gradio_client import Client, handle_file

studio = Client("http://127.0.0.1:7860")
found = studio.predict(file=handle_file("assets/samples/support_requests.csv"), top=5, api_name="/mine")
for pair in found["pairs"]:
    print(f"{pair['score']:.3f}  {pair['a']}  |  {pair['b']}")
