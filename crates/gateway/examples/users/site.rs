//! The processes of a run: the gateway, the servers of its backends, and that of the issuer's keys.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use crate::Outcome;
use crate::clients::{Exchange, Request};
use crate::issuer::{Issuer, TENANTS};

/// Where the gateway logs users in.
pub(crate) const LOGIN: &str = "/log-in";

/// What the gateway logs in with.
pub(crate) const CREDENTIAL: &str = "the-credential-of-the-gateway";

/// Files of the folder: the key set, and the number of times that a backend has lost its sessions,
/// with the name of the backend behind it.
pub(crate) const KEYS_FILE: &str = "keys.json";
pub(crate) const EPOCH_FILE: &str = "epoch";

/// The servers of a backend.
const SERVERS: usize = 2;

/// How long a process may take until it answers, and a withdrawn key until it is refused: twice the
/// time between two fetches.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const WITHDRAWAL_TIMEOUT: Duration = Duration::from_secs(60);

/// The pause before something is tried again.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) struct Site {
    folder: PathBuf,
    gateway: Process,
    gateway_port: u16,
    keys: Process,
    keys_port: u16,
    servers: Vec<BackendServer>,
    epochs: [usize; TENANTS.len()],
    versions: usize,
}

struct BackendServer {
    tenant: &'static str,
    port: u16,
    process: Process,
}

/// A process that is killed when this value is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Site {
    pub(crate) fn start(weir: &str, issuer: &Issuer) -> Outcome<Self> {
        let folder = std::env::temp_dir().join(format!("weir-users-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        write_whole(&folder.join("credential"), CREDENTIAL)?;
        write_whole(&folder.join(KEYS_FILE), &issuer.key_set())?;
        for tenant in TENANTS {
            write_whole(&folder.join(format!("{EPOCH_FILE}-{tenant}")), "0")?;
        }
        let (keys_port, gateway_port) = (free_port()?, free_port()?);
        let keys = start_backend(keys_port, "keys", &folder)?;
        let mut servers = Vec::new();
        for tenant in TENANTS.iter().flat_map(|tenant| [*tenant; SERVERS]) {
            let port = free_port()?;
            servers.push(BackendServer {
                tenant,
                port,
                process: start_backend(port, tenant, &folder)?,
            });
        }
        let configuration = folder.join("gateway.toml");
        let text = configuration_of(&folder, gateway_port, keys_port, &servers, 0);
        write_whole(&configuration, &text)?;
        let mut command = Command::new(weir);
        command.arg("gateway").arg(&configuration);
        command.args(["--no-open", "--listen", "127.0.0.1:0", "--keep", "16MiB"]);
        let log = std::fs::File::create(folder.join("gateway.log"))?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        let (gateway, epochs, versions) = (Process(child), [0; TENANTS.len()], 0);
        Ok(Self { folder, gateway, gateway_port, keys, keys_port, servers, epochs, versions })
    }

    pub(crate) fn gateway_address(&self) -> String {
        format!("127.0.0.1:{}", self.gateway_port)
    }

    /// Waits until the gateway answers a user of each backend.
    pub(crate) async fn wait_until_ready(&mut self, issuer: &Issuer) -> Outcome {
        for user in 0..TENANTS.len() {
            let start = Instant::now();
            while self.status(&issuer.tokens()[user]).await != Some(200) {
                if start.elapsed() > START_TIMEOUT || self.gateway.0.try_wait()?.is_some() {
                    let log = std::fs::read_to_string(self.folder.join("gateway.log"))?;
                    return Err(format!("the gateway does not answer:\n{log}").into());
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        Ok(())
    }

    /// Waits until a token of the withdrawn key is refused.
    ///
    /// # Errors
    /// If it is not, in time.
    pub(crate) async fn check_withdrawn(&self, issuer: &Issuer) -> Outcome {
        self.publish(&issuer.key_set())?;
        let token = issuer.withdrawn_token().ok_or("no key was withdrawn: send more requests")?;
        let start = Instant::now();
        while self.status(&token).await != Some(401) {
            if start.elapsed() > WITHDRAWAL_TIMEOUT {
                return Err("a token of a withdrawn key is still accepted".into());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    async fn status(&self, token: &str) -> Option<u16> {
        let stream = TcpStream::connect(self.gateway_address()).await.ok()?;
        let mut exchange = Exchange::new(stream);
        let request = Request { path: "/ready", token, body: "" };
        exchange.send(&request).await.ok().map(|answer| answer.status)
    }

    /// Replaces the key set.
    pub(crate) fn publish(&self, key_set: &str) -> Outcome {
        write_whole(&self.folder.join(KEYS_FILE), key_set)
    }

    /// Lets a backend forget its sessions.
    pub(crate) fn forget_sessions(&mut self, tenant: usize) -> Outcome {
        self.epochs[tenant] += 1;
        let file = self.folder.join(format!("{EPOCH_FILE}-{}", TENANTS[tenant]));
        write_whole(&file, &self.epochs[tenant].to_string())
    }

    /// Kills a server. Returns the name of its backend, and when that was at the earliest and the
    /// latest.
    pub(crate) fn kill(&mut self, server: usize) -> Outcome<(&'static str, [Instant; 2])> {
        let server = &mut self.servers[server];
        let before = Instant::now();
        server.process.0.kill()?;
        server.process.0.wait()?;
        Ok((server.tenant, [before, Instant::now()]))
    }

    /// Starts a killed server again.
    pub(crate) fn start_again(&mut self, server: usize) -> Outcome {
        let server = &mut self.servers[server];
        server.process = start_backend(server.port, server.tenant, &self.folder)?;
        Ok(())
    }

    /// Changes the configuration, and lets the gateway read it again.
    pub(crate) fn reload(&mut self) -> Outcome {
        self.versions += 1;
        let (gateway, keys) = (self.gateway_port, self.keys_port);
        let text = configuration_of(&self.folder, gateway, keys, &self.servers, self.versions);
        write_whole(&self.folder.join("gateway.toml"), &text)?;
        let process = self.gateway.0.id().to_string();
        Command::new("kill").args(["-HUP", &process]).status()?;
        Ok(())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.keys.0.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn configuration_of(
    folder: &Path,
    gateway_port: u16,
    keys_port: u16,
    servers: &[BackendServer],
    version: usize,
) -> String {
    use std::fmt::Write;
    let mut text = format!(
        "# version {version}\nlisten = [\"127.0.0.1:{gateway_port}\"]\n\n\
         [issuers.login]\nissuer = \"https://login.example\"\naudience = \"api\"\n\
         algorithms = [\"EdDSA\"]\njwks_url = \"http://127.0.0.1:{keys_port}/keys\"\n\
         key_refresh = \"10s\"\nkey_pause = \"1s\"\n"
    );
    for tenant in TENANTS {
        let own = servers.iter().filter(|server| server.tenant == tenant);
        let origins: Vec<String> =
            own.map(|server| format!("\"http://127.0.0.1:{}\"", server.port)).collect();
        // Writing to a string cannot fail.
        let _ = write!(text, "\n[backends.{tenant}]\ninstances = [{}]\n", origins.join(", "));
    }
    let backends = TENANTS.map(|tenant| format!("{tenant} = \"{tenant}\"")).join(", ");
    let credential = folder.join("credential");
    // Every other version has one more route, before the one that is used.
    let other = "\n[[routes]]\npath = \"/other\"\nissuer = \"login\"\nbackend = \"red\"\n";
    text += if version % 2 == 1 { other } else { "" };
    let _ = write!(
        text,
        "\n[[routes]]\npath = \"/\"\nissuer = \"login\"\nclaim = \"tenant\"\n\
         backends = {{ {backends} }}\nforward_claims = {{ \"X-User\" = \"sub\" }}\n\
         session = {{ login = \"{LOGIN}\", credential_file = {credential:?} }}\n"
    );
    text
}

fn start_backend(port: u16, name: &str, folder: &Path) -> Outcome<Process> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["backend", &format!("127.0.0.1:{port}"), name]).arg(folder);
    Ok(Process(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?))
}

/// A port that was free a moment ago.
fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Writes a file so that nobody reads a part of it.
fn write_whole(path: &Path, text: &str) -> Outcome {
    let new = path.with_extension("new");
    std::fs::write(&new, text)?;
    std::fs::rename(&new, path)?;
    Ok(())
}
