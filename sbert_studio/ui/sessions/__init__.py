"""Visitors' sessions: requests, running tasks, values in memory, files on disk and quotas."""
