from gradio_client import Client, handle_file

studio = Client("http://127.0.0.1:7860")
found = studio.predict(file=handle_file("assets/samples/support_requests.csv"), clusters="6", api_name="/map")
for topic in found["topics"]:
    print(topic["size"], topic["label"])
print(found["coordinates"][0])
