"""The page: real HTTP against a real server, and a real browser where there is one."""
