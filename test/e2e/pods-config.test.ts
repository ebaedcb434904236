import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, connect } from '../../client/index.ts';
import { eventually } from './installation.ts';
import {
  configMap,
  containerOf,
  createPodHouse,
  image,
  inspect,
  type PodHouse,
  podOf,
  script,
  secret,
  stay,
} from './pods-fixture.ts';

// What a container is started with: environment, command, limits.
let house: PodHouse;
beforeAll(async () => {
  house = await createPodHouse('config');
});
afterAll(() => house.berth.purge());

const linesOf = (text: string) =>
  Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2)),
  );

describe('the environment of a container', () => {
  let env: Record<string, string>;
  let pod: Awaited<ReturnType<PodHouse['running']>>;
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  const resource = (name: string, of: string, divisor?: string) => ({
    name,
    valueFrom: { resourceFieldRef: { resource: of, ...(divisor ? { divisor } : {}) } },
  });
  const key = (name: string, from: object) => ({ name, valueFrom: from });

  beforeAll(async () => {
    const variables = [
      { name: 'PLAIN', value: 'one' },
      { name: 'EXPANDED', value: '$(PLAIN)-$(FROM_MAP)-$(LATER)-$$(PLAIN)' },
      { name: 'LATER', value: 'too late' },
      { name: 'EMPTY' },
      key('FROM_KEY', { configMapKeyRef: { name: 'settings', key: 'color' } }),
      key('FROM_SECRET', { secretKeyRef: { name: 'login', key: 'password' } }),
      key('OPTIONAL', { configMapKeyRef: { name: 'nowhere', key: 'x', optional: true } }),
      field('POD_NAME', 'metadata.name'),
      field('POD_NAMESPACE', 'metadata.namespace'),
      field('POD_UID', 'metadata.uid'),
      field('POD_IP', 'status.podIP'),
      field('HOST_IP', 'status.hostIP'),
      field('NODE_NAME', 'spec.nodeName'),
      field('LABEL', "metadata.labels['tier']"),
      field('ANNOTATION', "metadata.annotations['example.com/note']"),
      resource('CPU_LIMIT', 'limits.cpu'),
      resource('CPU_REQUEST_MILLI', 'requests.cpu', '1m'),
      resource('MEMORY_LIMIT', 'limits.memory'),
      resource('MEMORY_REQUEST_MI', 'requests.memory', '1Mi'),
    ];
    const container = script(stay, {
      env: variables,
      envFrom: [
        { configMapRef: { name: 'settings' }, prefix: 'FROM_' },
        { secretRef: { name: 'login' } },
        { configMapRef: { name: 'nowhere', optional: true } },
      ],
      resources: { requests: { cpu: '50m', memory: '20Mi' }, limits: { cpu: '300m', memory: '48Mi' } },
    });
    const metadata = { labels: { tier: 'back' }, annotations: { 'example.com/note': 'a b' } };
    await house.apply(
      configMap('settings', { MAP: 'mapped', color: 'blue' }),
      secret('login', { user: 'root', password: 'p=1 $x' }),
      podOf('env', [container], {}, metadata),
    );
    pod = await house.running('env');
    env = linesOf(await house.exec('env', 'env'));
  });

  it('has plain values, with $(NAME) of earlier variables replaced and everything else left alone', () => {
    expect(env).toMatchObject({ PLAIN: 'one', EXPANDED: 'one-mapped-$(LATER)-$(PLAIN)', LATER: 'too late', EMPTY: '' });
  });
  it('has keys of ConfigMaps and Secrets, and whole ones with a prefix', () => {
    expect(env).toMatchObject({ FROM_KEY: 'blue', FROM_SECRET: 'p=1 $x', FROM_MAP: 'mapped', FROM_color: 'blue', user: 'root' });
    expect(env).not.toHaveProperty('OPTIONAL');
  });
  it('has fields of the pod itself', () => {
    expect(env).toMatchObject({
      POD_NAME: 'env',
      POD_NAMESPACE: 'default',
      POD_UID: pod.metadata.uid,
      POD_IP: pod.status.podIP,
      HOST_IP: pod.status.hostIP,
      NODE_NAME: house.berth.nodeName,
      LABEL: 'back',
      ANNOTATION: 'a b',
    });
    expect(env.HOST_IP).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
  });
  it('has its own requests and limits, divided and rounded up', () => {
    expect(env).toMatchObject({
      CPU_LIMIT: '1',
      CPU_REQUEST_MILLI: '50',
      MEMORY_LIMIT: String(48 * 1024 * 1024),
      MEMORY_REQUEST_MI: '20',
    });
  });
  it('has the pod as host name', async () => {
    expect(env.HOSTNAME).toBe('env');
    expect(await house.exec('env', 'hostname')).toBe('env\n');
  });
});

describe('command and args', () => {
  it("replace the image's, in the working directory, with variables expanded", async () => {
    const base = { image, imagePullPolicy: 'IfNotPresent', env: [{ name: 'WORD', value: 'hello' }] };
    await house.apply(
      podOf(
        'words',
        [
          {
            ...base,
            name: 'both',
            command: ['sh', '-c'],
            args: ['echo "$0" \'$(WORD) $$(WORD)\'; pwd', 'zero'],
            workingDir: '/tmp',
          },
          { ...base, name: 'args', args: ['sh', '-c', 'echo only args'] },
          { ...base, name: 'user', command: ['id', '-u'], securityContext: { runAsUser: 1234, readOnlyRootFilesystem: true } },
          {
            ...base,
            name: 'fixed',
            command: ['sh', '-c', 'touch /tmp/x || echo refused'],
            securityContext: { readOnlyRootFilesystem: true },
          },
        ],
        { restartPolicy: 'Never' },
      ),
    );
    await house.until('words', 'has ended', (pod) => pod.status.phase === 'Succeeded');
    const logs = (container: string) => house.berth.ok('logs', 'words', '-c', container);
    expect(await logs('both')).toBe('zero hello $(WORD)\n/tmp\n');
    expect(await logs('args')).toBe('only args\n');
    expect(await logs('user')).toBe('1234\n');
    expect(await logs('fixed')).toContain('refused');
  });
});

describe('limits', () => {
  const cgroup = (first: string, second: string) => `cat /sys/fs/cgroup/${first} 2>/dev/null || cat /sys/fs/cgroup/${second}`;

  it("are set in the container's cgroup", async () => {
    const resources = { requests: { cpu: '250m', memory: '16Mi' }, limits: { cpu: '500m', memory: '32Mi' } };
    await house.apply(podOf('limited', [script(stay, { resources })]));
    const pod = await house.running('limited');
    expect(pod.status.qosClass).toBe('Burstable');
    const memory = await house.sh('limited', cgroup('memory/memory.limit_in_bytes', 'memory.max'));
    expect(Number(memory)).toBe(32 * 1024 * 1024);
    const quota = await house.sh('limited', cgroup('cpu/cpu.cfs_quota_us', 'cpu.max'));
    expect(quota.trim().split(' ')[0]).toBe('50000');
    const { HostConfig } = await inspect(containerOf(pod).containerID);
    expect(HostConfig).toMatchObject({ CpuShares: 256, CpuQuota: 50_000, Memory: 32 * 1024 * 1024 });
  });

  it('are absent from a container that sets none, whose log is bounded all the same', async () => {
    await house.apply(podOf('free', [script(stay)]));
    const pod = await house.running('free');
    expect(pod.status.qosClass).toBe('BestEffort');
    const { HostConfig } = await inspect(containerOf(pod).containerID);
    expect(HostConfig).toMatchObject({ CpuQuota: 0, Memory: 0 });
    expect(HostConfig.LogConfig).toEqual({ Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } });
  });
});

describe('a token of the service account', () => {
  const folder = '/var/run/secrets/kubernetes.io/serviceaccount';
  const programs: Client[] = [];
  afterAll(() => {
    for (const program of programs) program.close();
  });

  it('is in every pod, in the memory that they share, with folders of their own that go with them', async () => {
    const files = ['token', 'ca.crt', 'namespace'];
    await house.apply(
      podOf('usual', [script(stay)]),
      podOf('grouped', [script(stay, { securityContext: { runAsUser: 1000 } })], { securityContext: { fsGroup: 2000 } }),
    );
    await Promise.all(['usual', 'grouped'].map(house.running));
    const stat = `cd ${folder}; stat -Lc '%n %a %u %g' ${files.join(' ')}; ls -A | grep -v '^\\.\\.'`;
    expect(await house.sh('usual', stat)).toBe('token 644 0 0\nca.crt 644 0 0\nnamespace 644 0 0\nca.crt\nnamespace\ntoken\n');
    expect(await house.sh('grouped', `head -c 3 ${folder}/token; stat -Lc ' %a %u %g' ${folder}/token`)).toBe(
      'eyJ 640 1000 2000\n',
    );
    await expect(house.sh('usual', `echo x >${folder}/token`)).rejects.toThrow('Read-only file system');
    const { metadata } = await house.pod('usual');
    const mounts = () => readFileSync('/proc/mounts', 'utf8').split('\n');
    expect(mounts().filter((line) => line.includes(`${house.berth.dataDir}/node/`) && line.includes('/memory '))).toHaveLength(1);
    expect(mounts().filter((line) => line.includes(metadata.uid))).toEqual([]);
    const node = readdirSync(join(house.berth.dataDir, 'node'))[0]!;
    const memory = join(house.berth.dataDir, 'node', node, 'memory');
    expect(readdirSync(memory)).toContain(metadata.uid);
    await house.berth.ok('delete', 'pod', 'usual', 'grouped');
    await eventually('their folders are gone', async () => (readdirSync(memory).includes(metadata.uid) ? undefined : true));
  });

  it('is in memory, for the user of the pod alone, and with the authorities lets a program in as its account until the pod is gone', async () => {
    await house.berth.ok('create', 'serviceaccount', 'reader');
    await house.berth.ok('create', 'rolebinding', 'reader', '--clusterrole=view', '--serviceaccount=default:reader');
    const vault = { serviceAccountToken: { path: 'token', audience: 'vault', expirationSeconds: 600 } };
    const volumes = [{ name: 'vault', projected: { sources: [vault] } }];
    const containers = [script(stay, { volumeMounts: [{ name: 'vault', mountPath: '/vault' }] })];
    const user = { securityContext: { runAsUser: 1000 } };
    await house.apply(
      podOf('caller', containers, { serviceAccountName: 'reader', volumes, ...user }),
      podOf('silent', [script(stay)], { serviceAccountName: 'reader', automountServiceAccountToken: false }),
    );
    await Promise.all(['caller', 'silent'].map(house.running));
    expect(await house.sh('caller', `stat -Lc '%a %u' ${folder}/token /vault/token; cat ${folder}/namespace`)).toBe(
      '600 1000\n600 1000\ndefault',
    );
    expect(await house.sh('caller', `df -P ${folder} /vault | awk '{print $1}'`)).toBe('Filesystem\nberth\nberth\n');
    await expect(house.sh('silent', `ls ${folder}`)).rejects.toThrow('No such file');

    const ca = await house.exec('caller', 'cat', `${folder}/ca.crt`);
    const { address } = house.berth;
    const program = connect({ address, ca, token: await house.exec('caller', 'cat', `${folder}/token`) });
    const stranger = connect({ address, ca, token: await house.exec('caller', 'cat', '/vault/token') });
    programs.push(program, stranger);
    expect((await program.reviews.whoAmI()).extra).toMatchObject({
      'authentication.kubernetes.io/pod-name': { items: ['caller'] },
    });
    expect((await program.pods.list({ namespace: 'default' })).items.length).toBeGreaterThan(1);
    await expect(program.secrets.list({ namespace: 'default' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(stranger.reviews.whoAmI()).rejects.toThrow('it is for vault, not for the API server');
    await house.berth.ok('delete', 'pod', 'caller');
    await expect(program.reviews.whoAmI()).rejects.toThrow(
      'the pod "default/caller" that it is bound to does not exist any more',
    );
  });
});
