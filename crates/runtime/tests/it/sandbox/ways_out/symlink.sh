ln -s "$OUTSIDE" link && echo x > link/new
