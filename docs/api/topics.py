from gradio_client import Client, handle_file

studio = Client("http://127.0.0.1:7860")
found = studio.predict(file=handle_file("assets/samples/support_requests.csv"), topics="auto", api_name="/topics")
for topic in found["topics"]:
    print(topic["size"], topic["label"], topic["keywords"])
for table in found["categories"]:
    print(table["column"], table["categories"], table["residuals"][0])
