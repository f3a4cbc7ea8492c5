from gradio_client import Client

studio = Client("http://127.0.0.1:7860")
found = studio.predict(a="Where is my card?", b="My card has not arrived", api_name="/similarity")
print(found["cosine"])
