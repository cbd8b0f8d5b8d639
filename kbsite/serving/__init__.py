"""Between network and Django: what is admitted, refused, protected, said during an outage."""
