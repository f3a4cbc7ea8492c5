"""Who looks at the page, what each of them has here, and what is refused."""
