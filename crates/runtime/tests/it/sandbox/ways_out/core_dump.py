import resource; resource.setrlimit(resource.RLIMIT_CORE, (1, 1)); assert resource.getrlimit(resource.RLIMIT_CORE)[1] >= 1
