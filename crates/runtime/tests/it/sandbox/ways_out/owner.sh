echo x > here && chown 12345 here
