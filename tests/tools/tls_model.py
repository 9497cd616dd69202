#!/usr/bin/env python3
"""tls_model.py CERTIFICATE KEY SKILL.md PORT-FILE: a model's server over TLS that answers every question with this text.

Writes its port to PORT-FILE once it listens, and ends when its standard input does.
"""

import http.server
import json
import os
import ssl
import sys
import threading

certificate, key, text, port_file = sys.argv[1:]
with open(text, encoding="utf-8") as file:
    result = {"status": "merged", "merged_skill_md": file.read(), "summary": "Both."}
message = {"role": "assistant", "content": json.dumps(result)}
reply = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Model)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(port_file + ".new", "w", encoding="ascii") as file:
    file.write(str(server.server_port))
os.rename(port_file + ".new", port_file)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
