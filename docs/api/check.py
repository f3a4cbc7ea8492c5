from gradio_client import Client, handle_file

studio = Client("http://127.0.0.1:7860")
found = studio.predict(file=handle_file("assets/samples/scored_pairs.csv"), api_name="/check")
print(found["kind"], found["rows"], "certain" if found["certain"] else found["questions"][0]["question"])
for one in found["findings"]:
    print(one["severity"], one["message"], one["rows"][:5])
