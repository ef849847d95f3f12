echo x > ../outside/new
