"""Large corpora: folders of Parquet shards, processed locally or with Ray."""
