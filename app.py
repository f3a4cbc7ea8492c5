"""Start the studio: what a Space runs, and ``python app.py`` anywhere else."""

from sbert_studio.settings import Settings
from sbert_studio.studio import Studio
from sbert_studio.ui.app import launch

if __name__ == "__main__":
    settings = Settings.from_env()
    with Studio(settings) as studio:
        launch(studio, settings.host, settings.port, settings.share)
