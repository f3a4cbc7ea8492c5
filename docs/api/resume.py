from gradio_client import Client, handle_file

studio = Client("http://127.0.0.1:7860")
run = studio.predict(file=handle_file("assets/samples/scored_pairs.csv"), api_name="/train")
studio.predict(run["id"], run["token"], api_name="/stop")
while studio.predict(run["id"], 0, api_name="/run")["run"]["status"] in ("queued", "running"):
    pass
print(studio.predict(run["id"], run["token"], api_name="/resume")["status"])
