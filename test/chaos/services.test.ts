import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import type { Deployment, Pod, Service } from '../../client/index.ts';
import { eventually } from '../e2e/installation.ts';
import { type Cluster, createCluster } from './cluster.ts';
import { image, namespace } from './pod-churn.ts';

// Two hosts with pods in the routed network: Services answer at their addresses, ports and names, also after faults.
type Host = 'h1' | 'h2';
const hosts: readonly Host[] = ['h1', 'h2'];

let cluster: Cluster;

const must = async (host: Host, script: string): Promise<string> => {
  const { code, stdout, stderr } = await cluster.exec(host, 'sh', '-ec', script);
  if (code !== 0) throw new Error(`${script} on ${host} ended with ${code}: ${stderr}`);
  return stdout;
};

/** A program that ends at once when it is told to, as its first process does not by itself. */
const server = 'hostname >/index.html; trap "kill $!; exit 0" TERM; httpd -f -p 80 -h / & wait';
const podSpec = (script: string): NonNullable<Pod['spec']> => ({
  terminationGracePeriodSeconds: 5,
  containers: [{ name: 'main', image, imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', script] }],
});
const client = (name: string, nodeName: Host): Pod => ({
  metadata: { namespace, name },
  spec: { ...podSpec('exec sleep 3600'), nodeName },
});
const web: Deployment = {
  metadata: { namespace, name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        ...podSpec(server),
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 'web' } },
          },
        ],
      },
    },
  },
};
const service: Service = {
  metadata: { namespace, name: 'web' },
  spec: {
    type: 'NodePort',
    selector: { app: 'web' },
    ports: [{ name: 'http', port: 8080, targetPort: { type: 0, intVal: 80 }, nodePort: 31080 }],
  },
};
const headless: Service = {
  metadata: { namespace, name: 'each' },
  spec: { clusterIP: 'None', selector: { app: 'web' }, ports: [{ name: 'http', port: 80 }] },
};

/** A program of the cluster: `berth` itself, with this machine's Node.js and libraries, and its account's token. */
const tree = fileURLToPath(new URL('../..', import.meta.url));
const programs = { '/usr': '/usr', '/lib': '/usr/lib', '/lib64': '/usr/lib64', '/berth': tree };
const reader = (nodeName: Host): Pod => ({
  metadata: { namespace, name: `reader-${nodeName}` },
  spec: {
    ...podSpec('exec sleep 3600'),
    nodeName,
    volumes: Object.values(programs).map((path, i) => ({ name: `v${i}`, volumeSource: { hostPath: { path } } })),
    containers: podSpec('exec sleep 3600').containers!.map((main) => ({
      ...main,
      volumeMounts: Object.keys(programs).map((mountPath, i) => ({ name: `v${i}`, mountPath, readOnly: true })),
    })),
  },
});

/** What `berth` in a pod answers, without any flag or file that says where the server is. */
async function berthIn(host: Host, ...args: string[]): Promise<string> {
  const program = ['/usr/bin/node', '/berth/bin/berth', ...args];
  const { stdout, stderr } = await cluster.berth('h1', 'exec', `reader-${host}`, '--', 'timeout', '20', ...program);
  return stdout || stderr;
}

/** A client of Kubernetes' API as any pod may have one: the variables, and the account's files, are all it knows. */
const kubernetesClient = `
  const fs = require('node:fs'), https = require('node:https'), folder = '/var/run/secrets/kubernetes.io/serviceaccount/';
  const [host, path] = process.argv.slice(1), headers = { authorization: 'Bearer ' + fs.readFileSync(folder + 'token') };
  const at = { host: host || process.env.KUBERNETES_SERVICE_HOST, port: process.env.KUBERNETES_SERVICE_PORT_HTTPS };
  https.get({ ...at, path, headers, ca: fs.readFileSync(folder + 'ca.crt') }, (response) => {
    console.log(response.statusCode);
    response.pipe(process.stdout);
  });`;

/** What it is answered: the status in the first line, then the body. An empty host is the one of the variables. */
async function askKubernetes(host: Host, address: '' | 'kubernetes.default.svc', path: string): Promise<string> {
  const program = ['/usr/bin/node', '-e', kubernetesClient, address, path];
  const { stdout, stderr } = await cluster.berth('h1', 'exec', `reader-${host}`, '--', 'timeout', '20', ...program);
  return stdout || stderr;
}

/** What a host's own programs see of TLS at an address. */
const handshake = (host: Host, address: string) =>
  must(host, `curl -skv --max-time 5 https://${address}/ 2>&1 | grep -oE "SSL connection using|reset by peer|refused" | head -1`);

const webPods = async (): Promise<Pod[]> => (await cluster.client.pods.list({ namespace, labelSelector: 'app=web' })).items;
const addressOf = async (): Promise<string> =>
  (await cluster.client.services.get({ namespace, name: 'web' })).spec?.clusterIP ?? '';

/** The names of the pods that answer `count` requests. */
async function answersTo(from: string, url: string, count = 1): Promise<string[]> {
  const script = `i=0; while [ $i -lt ${count} ]; do timeout 5 wget -qO- ${url} || echo failed; i=$((i+1)); done`;
  const { stdout, stderr } = await cluster.berth('h1', 'exec', from, '--', 'sh', '-c', script);
  return (stdout.trim() || stderr).split('\n');
}

async function bothAnswer(from: string, url: string): Promise<void> {
  const names = (await webPods()).map(({ metadata }) => metadata?.name ?? '').toSorted();
  expect([...new Set(await answersTo(from, url, 30))].toSorted(), `${from} asks ${url}`).toEqual(names);
}

/** Asks again and again until there is a file /stop; each request is a new connection. */
const loadScript =
  'while [ ! -e /stop ]; do timeout 5 wget -qO- http://web:8080/index.html >/dev/null || echo x >>/failed; echo x >>/asked; done';

async function countOf(file: 'asked' | 'failed'): Promise<number> {
  const script = `cat /${file} 2>/dev/null | wc -l`;
  return Number((await cluster.berth('h1', 'exec', 'client-h2', '--', 'sh', '-c', script)).stdout);
}

const lookUp = async (from: string, name: string): Promise<string> =>
  (await cluster.berth('h1', 'exec', from, '--', 'nslookup', name)).stdout;

beforeAll(async () => {
  cluster = await createCluster(2);
  await cluster.client.deployments.create(web);
  for (const each of [service, headless]) await cluster.client.services.create(each);
  const subjects = ['--serviceaccount', `${namespace}:default`];
  await cluster.berth('h1', 'create', 'rolebinding', 'readers', '--clusterrole', 'view', ...subjects, '-n', namespace);
  for (const host of hosts) {
    await cluster.client.pods.create(client(`client-${host}`, host));
    await cluster.client.pods.create(reader(host));
  }
  await eventually('all pods are ready', async () => {
    const { items } = await cluster.client.pods.list({ namespace });
    return items.length === 6 && items.every(isPodReady) ? true : undefined;
  });
});
afterAll(async () => {
  await cluster?.close();
});

describe('services', () => {
  it('answer at their address and name, from pods of each host, with pods of both', async () => {
    for (const host of hosts) {
      await bothAnswer(`client-${host}`, `http://${await addressOf()}:8080/index.html`);
      await bothAnswer(`client-${host}`, 'http://web:8080/index.html');
      await bothAnswer(`client-${host}`, `http://web.${namespace}.svc.cluster.local:8080/index.html`);
    }
  });

  it('answer on each host: to its own programs, and at the node port', async () => {
    const names = (await webPods()).map(({ metadata }) => metadata?.name ?? '');
    for (const host of hosts) {
      for (const url of [`http://${await addressOf()}:8080/index.html`, `http://10.117.8.${host[1]}:31080/index.html`])
        expect(names).toContain((await must(host, `curl -sf --max-time 5 ${url}`)).trim());
    }
    const other = await must('h1', 'curl -sf --max-time 5 http://10.117.8.2:31080/index.html');
    expect(names).toContain(other.trim());
  });

  it('are told in variables to containers that are made later, and restart none for that', async () => {
    const restarts = async () =>
      (await cluster.client.pods.list({ namespace })).items.flatMap(({ metadata, status }) =>
        (status?.containerStatuses ?? []).map(({ containerID, restartCount }) => [metadata?.name, containerID, restartCount]),
      );
    const variablesOf = async (pod: string) =>
      (await cluster.berth('h1', 'exec', pod, '--', 'env')).stdout.split('\n').toSorted();
    const before = await restarts();
    const env = [
      { name: 'WEB_PORT', value: 'own' },
      { name: 'URL', value: 'http://$(WEB_SERVICE_HOST):$(WEB_SERVICE_PORT_HTTP)' },
    ];
    const made = (name: string, enableServiceLinks?: boolean): Pod => {
      const spec = podSpec('exec sleep 3600');
      const containers = (spec.containers ?? []).map((each) => ({ ...each, env }));
      return {
        metadata: { namespace, name },
        spec: { ...spec, nodeName: 'h2', containers, ...(enableServiceLinks === false && { enableServiceLinks }) },
      };
    };
    const names = ['linked', 'unlinked'];
    await cluster.client.pods.create(made('linked'));
    await cluster.client.pods.create(made('unlinked', false));
    await eventually('both run', async () => {
      const pods = await Promise.all(names.map((name) => cluster.client.pods.get({ namespace, name })));
      return pods.every(isPodReady) ? true : undefined;
    });
    const address = await addressOf();
    const linked = await variablesOf('linked');
    expect(linked.filter((line) => /^(WEB|EACH|URL)/.test(line))).toEqual([
      `URL=http://${address}:8080`,
      'WEB_PORT=own',
      ...[`WEB_PORT_8080_TCP=tcp://${address}:8080`, `WEB_PORT_8080_TCP_ADDR=${address}`, 'WEB_PORT_8080_TCP_PORT=8080'],
      ...['WEB_PORT_8080_TCP_PROTO=tcp', `WEB_SERVICE_HOST=${address}`, 'WEB_SERVICE_PORT=8080', 'WEB_SERVICE_PORT_HTTP=8080'],
    ]);
    expect((await variablesOf('unlinked')).filter((line) => /^(WEB|EACH)/.test(line))).toEqual(['WEB_PORT=own']);
    await cluster.client.services.create({ metadata: { namespace, name: 'later' }, spec: { ports: [{ port: 1 }] } });
    for (const name of names) await cluster.client.pods.delete({ namespace, name });
    await eventually('both are gone', async () => {
      const { items } = await cluster.client.pods.list({ namespace });
      return items.some(({ metadata }) => names.includes(metadata?.name ?? '')) ? undefined : true;
    });
    expect(await restarts()).toEqual(before);
  });

  it('have names for each pod where they have no address, and for themselves backwards', async () => {
    const addresses = (await webPods()).map(({ status }) => status?.podIP ?? '');
    const found = await lookUp('client-h1', `each.${namespace}.svc.cluster.local`);
    for (const address of addresses) expect(found).toContain(address);
    expect(await lookUp('client-h2', await addressOf())).toContain(`web.${namespace}.svc.cluster.local`);
  });

  it('lead pods of each host to the API server by name, with the token of their account and nothing else', async () => {
    for (const host of hosts) {
      const env = await cluster.berth('h1', 'exec', `reader-${host}`, '--', 'env');
      expect(env.stdout).toContain('BERTH_ADDRESS=berth.default.svc:443\n');
      expect(await berthIn(host, 'auth', 'whoami')).toContain(`system:serviceaccount:${namespace}:default`);
      expect(await berthIn(host, 'get', 'pods', '-o', 'name')).toContain(`pod/reader-${host}`);
      expect(await berthIn(host, 'get', 'secrets')).toContain('cannot list');
    }
    expect(await lookUp('client-h2', 'berth.default.svc.cluster.local')).toContain('10.43.0.1');
  });

  it('lead clients of Kubernetes on each host to its API, by name and by the variables of all pods', async () => {
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    for (const host of hosts) {
      for (const address of ['', 'kubernetes.default.svc'] as const) {
        const [status, body = ''] = (await askKubernetes(host, address, pods)).split(/\n(.*)/s);
        expect([status, JSON.parse(body).kind]).toEqual(['200', 'PodList']);
      }
      expect(await askKubernetes(host, '', `/api/v1/namespaces/${namespace}/secrets`)).toMatch(/^403\n/);
    }
    const { stdout } = await cluster.berth('h1', 'exec', 'client-h2', '--', 'env');
    for (const line of [
      'KUBERNETES_SERVICE_HOST=10.43.0.2',
      'KUBERNETES_SERVICE_PORT=443',
      'KUBERNETES_PORT=tcp://10.43.0.2:443',
    ])
      expect(stdout.split('\n')).toContain(line);
    expect(await lookUp('client-h2', 'kubernetes.default.svc.cluster.local')).toContain('10.43.0.2');
  });

  it('lead a watch and large answers of the API server to a pod', async () => {
    const data = { text: 'x'.repeat(900_000) };
    for (const name of ['large-1', 'large-2', 'large-3']) {
      await cluster.client.configMaps.create({ metadata: { namespace, name }, data });
    }
    const all = await berthIn('h2', 'get', 'configmaps', '-o', 'yaml');
    expect(all.length).toBeGreaterThan(2_700_000);
    expect(await berthIn('h2', 'wait', '--for=condition=Ready', 'pod/client-h1', '--timeout=10s')).toContain('condition met');
  });

  it('lead to the API server on each host only what is of that host', async () => {
    for (const host of hosts)
      for (const address of ['10.43.0.1', '10.43.0.2']) expect(await handshake(host, address)).toBe('SSL connection using\n');
    const port = (await must('h2', 'ss -Hltn src 10.42.1.1')).match(/10\.42\.1\.1:(?!53\b)(\d+)/)?.[1];
    expect(await handshake('h2', `10.42.1.1:${port}`)).toBe('SSL connection using\n');
    expect(await handshake('h1', `10.42.1.1:${port}`)).toBe('reset by peer\n');
  });

  it('are followed: no new connection goes to a pod that is gone', async () => {
    const [gone] = await webPods();
    const name = gone?.metadata?.name ?? '';
    await cluster.client.pods.delete({ namespace, name });
    const answers = await answersTo('client-h1', 'http://web:8080/index.html', 40);
    expect(answers.filter((answer) => answer === 'failed')).toEqual([]);
    await eventually('another pod is ready', async () => {
      const pods = await webPods();
      return pods.length === 2 && pods.every(isPodReady) && pods.every(({ metadata }) => metadata?.name !== name)
        ? true
        : undefined;
    });
    await bothAnswer('client-h2', 'http://web:8080/index.html');
  });

  it('lose no request while all pods are replaced, though the program ends at once', async () => {
    const load = cluster.berth('h1', 'exec', 'client-h2', '--', 'sh', '-c', loadScript);
    await eventually('the load runs', async () => ((await countOf('asked')) > 20 ? true : undefined));
    const env = [{ name: 'ROUND', value: '2' }];
    const patch = { spec: { template: { spec: { containers: [{ name: 'main', image, command: ['sh', '-c', server], env }] } } } };
    const first = (await webPods()).map(({ metadata }) => metadata?.uid);
    await cluster.client.deployments.patch({ namespace, name: 'web' }, patch);
    await eventually('all pods are new', async () => {
      const pods = await webPods();
      const isNew = pods.every((pod) => isPodReady(pod) && !first.includes(pod.metadata?.uid));
      return pods.length === 2 && isNew ? true : undefined;
    });
    await cluster.berth('h1', 'exec', 'client-h2', '--', 'touch', '/stop');
    await load;
    expect(await countOf('asked')).toBeGreaterThan(100);
    expect(await countOf('failed')).toBe(0);
  });

  it('answer while the agent of a host is away, and names through the other host', async () => {
    await cluster.berth('h2', 'down');
    const script = 'timeout 20 wget -qO- http://web:8080/index.html';
    const sandbox = (await cluster.containers('h2', 'client-h2')).join(' ');
    const asked = await must(
      'h2',
      `for id in ${sandbox}; do if docker exec $id true 2>/dev/null; then docker exec $id sh -c '${script}' && exit; fi; done; exit 1`,
    );
    expect(asked).toMatch(/web-/);
    for (const address of ['10.43.0.1', '10.43.0.2']) expect(await handshake('h2', address)).toBe('refused\n');
    expect(await berthIn('h1', 'auth', 'whoami')).toContain('system:serviceaccount');
    await cluster.berth('h2', 'join', '--detach');
    await eventually('the resolver answers again', async () =>
      (await must('h2', 'ss -lun')).includes('10.42.1.1:53') ? true : undefined,
    );
    await eventually('pods of the host reach the API server again', async () =>
      (await berthIn('h2', 'auth', 'whoami')).includes('system:serviceaccount') ? true : undefined,
    );
  });

  it.each([
    ['the firewall was flushed', 'iptables -F FORWARD; nft flush ruleset; iptables -P FORWARD DROP'],
    [
      'routes and the gateway were removed',
      'ip route del 10.43.0.0/16; ip link del $(ip -o link | grep -o "bgw[0-9a-f]*" | head -1)',
    ],
  ])('answer within 5 s after %s', async (_, script) => {
    await must('h2', script);
    // What is refused meanwhile is told to few of those who ask (the kernel bounds ICMP): they wait for their time-out.
    const mended = 'ip route; ip -4 -oneline address; nft list tables';
    await eventually(
      'routes, gateway and table are there',
      async () => (/10\.43\.0\.0\/16 dev lo.*10\.42\.1\.1\/32.*ip berth_/s.test(await must('h2', mended)) ? true : undefined),
      5_000,
    );
    await bothAnswer('client-h2', 'http://web:8080/index.html');
  });

  it('leave nothing on a host that is purged', async () => {
    await cluster.berth('h2', 'down', '--purge', '--yes');
    const left = await must('h2', 'ip -oneline link; ip route; nft -s list tables; iptables -S FORWARD');
    expect(left).not.toMatch(/bth|bvx|bgw|berth|10\.4[23]\./i);
  });
});
