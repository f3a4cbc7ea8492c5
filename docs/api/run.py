import json
import time

from gradio_client import Client, handle_file

studio = Client("http://127.0.0.1:7860")
pairs = handle_file("assets/samples/scored_pairs.csv")
run = studio.predict(file=pairs, settings=json.dumps({"epochs": 1, "evaluation": "split"}), api_name="/train")
after = 0
while True:
    seen = studio.predict(run["id"], after, api_name="/run")
    after = seen["cursor"] or after
    for event in seen["events"]:
        if event["type"] == "evaluated":
            print("step", event["step"], event["score"])
    if seen["run"]["status"] not in ("queued", "running"):
        break
    time.sleep(1)
print(seen["run"]["status"], seen["run"]["scores"]["after"])
