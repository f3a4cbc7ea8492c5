from gradio_client import Client, handle_file

studio = Client("http://127.0.0.1:7860")
run = studio.predict(file=handle_file("assets/samples/scored_pairs.csv"), api_name="/train")
print(studio.predict(run["id"], run["token"], api_name="/stop")["status"])
