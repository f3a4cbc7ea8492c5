import json

from gradio_client import Client, handle_file

studio = Client("http://127.0.0.1:7860")
pairs = handle_file("assets/samples/scored_pairs.csv")
run = studio.predict(file=pairs, name="my pairs", settings=json.dumps({"epochs": 1, "evaluation": "split"}), api_name="/train")
print(run["id"], run["token"])
