using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .endpoint)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const endpoint :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-11-01",
  compatibilityFlags = ["no_nodejs_compat", "no_nodejs_compat_v2"],
  bindings = [
    (name = "HOOK_SECRET", fromEnvironment = "HOOK_SECRET"),
    (name = "HOOK_URL", fromEnvironment = "HOOK_URL"),
    (name = "HOOK_GATEWAY", fromEnvironment = "HOOK_GATEWAY"),
  ],
);
