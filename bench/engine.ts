import { Agent, request } from 'node:http';

/**
 * The Docker Engine driven directly and leanly: the floor that Berth is compared with. A "pod" is a sandbox and a
 * container in its network, made with the same settings as the agent's.
 */
export interface Engine {
  /** Creates and starts the sandbox and the container of one pod; returns both ids, the container first. */
  runPod(name: string): Promise<readonly [string, string]>;
  /** Removes both, killing what runs. */
  removePod(ids: readonly string[]): Promise<void>;
  /** How many containers carry all the labels `key=value`, in any state. */
  count(...labels: string[]): Promise<number>;
  countRunning(...labels: string[]): Promise<number>;
  removeAll(label: string): Promise<void>;
  hasImage(name: string): Promise<boolean>;
}

export const floorLabel = 'io.berth.bench=floor';

export function createEngine(
  images: { readonly sandbox: string; readonly container: string },
  socketPath = '/var/run/docker.sock',
): Engine {
  const call = connectTo(socketPath);
  const labels = Object.fromEntries([floorLabel.split('=') as [string, string]]);
  const run = async (name: string, config: object): Promise<string> => {
    const { Id } = (await call('POST', `/containers/create?name=${name}`, { Labels: labels, ...config })) as { Id: string };
    await call('POST', `/containers/${Id}/start`);
    return Id;
  };
  const listIds = async (wanted: readonly string[], more: object = {}): Promise<string[]> => {
    const filters = encodeURIComponent(JSON.stringify({ label: wanted, ...more }));
    return ((await call('GET', `/containers/json?all=1&filters=${filters}`)) as { Id: string }[]).map((each) => each.Id);
  };
  const remove = async (id: string): Promise<void> => {
    await call('DELETE', `/containers/${id}?force=1&v=1`);
  };

  return {
    async runPod(name) {
      const sandbox = await run(`${name}_POD`, {
        Image: images.sandbox,
        Hostname: name,
        HostConfig: { NetworkMode: 'bridge', IpcMode: 'shareable', LogConfig: { Type: 'none' } },
      });
      const container = await run(`${name}_main`, {
        Image: images.container,
        Cmd: ['sleep', '3600'],
        HostConfig: {
          NetworkMode: `container:${sandbox}`,
          IpcMode: `container:${sandbox}`,
          LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
          CpuShares: 10,
        },
      });
      return [container, sandbox];
    },
    async removePod(ids) {
      for (const id of ids) await remove(id);
    },
    hasImage: (name) =>
      call('GET', `/images/${name}/json`).then(
        () => true,
        () => false,
      ),
    count: async (...wanted) => (await listIds(wanted)).length,
    countRunning: async (...wanted) => (await listIds(wanted, { status: ['running'] })).length,
    async removeAll(label) {
      for (const id of await listIds([label])) await remove(id);
    },
  };
}

/** Calls the engine over connections that are kept: what it answers, or an Error that says what was asked. */
function connectTo(socketPath: string): (method: string, path: string, body?: object) => Promise<unknown> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });

  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const headers = text === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
      const sent = request({ socketPath, agent, method, path, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString('utf8');
          if ((response.statusCode ?? 500) >= 400) reject(new Error(`${method} ${path}: ${response.statusCode} ${answer}`));
          else resolve(answer === '' ? undefined : JSON.parse(answer));
        });
        response.on('error', reject);
      });
      sent.setTimeout(120_000, () => sent.destroy(new Error(`${method} ${path}: no answer within 120 s`)));
      sent.on('error', reject);
      sent.end(text);
    });
}
