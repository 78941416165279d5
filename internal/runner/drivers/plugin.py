

# A plugin of pytest that writes what became of each test beside itself.
report = os.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "report"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def pytest_configure(config):
    # A worker of a pool reports to the process that this is about.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes())
