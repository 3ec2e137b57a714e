"""The compilation server of jfi: `jfi-server start`, and functions stay compiled.

Table of contents:

    __main__     the command `jfi-server run|start|stop|status`
    paths        the folder of the socket, closed to other users
    protocol     what client and server say to each other
    transport    frames of bytes over rpyc, and nothing else of rpyc
    environment  what must agree between the two processes
    arrays       arrays as values, weak types, random keys and devices
    payload      programs by value, results by number
    errors       exceptions with their types
    client       what `jfi.persistent` calls
    server       the process: lock, socket, threads, end
    service      the table of compiled programs

`import jfi` imports none of it; the first call of a persistent function does.
"""
