from gradio_client import Client, handle_file

studio = Client("http://127.0.0.1:7860")
report = studio.predict(file=handle_file("assets/samples/scored_pairs.csv"), api_name="/evaluate")
print(report["task"], report["cosine"]["spearman"], report["interval"])
