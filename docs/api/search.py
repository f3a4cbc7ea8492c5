from gradio_client import Client, handle_file

studio = Client("http://127.0.0.1:7860")
corpus = handle_file("assets/samples/support_requests.csv")
found = studio.predict(file=corpus, query="I want my money back", k=3, mode="hybrid", api_name="/search")
for hit in found["hits"]:
    print(f"{hit['score']:.3f}  row {hit['row']}  {hit['text']}")
