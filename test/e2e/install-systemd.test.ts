import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import { type SystemdMachine, startSystemdMachine } from './systemd-machine.ts';

// "berth install" with a real systemd as the first process:
// what the units' settings let the processes do is seen nowhere else.
const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
const images = fileURLToPath(new URL('../../hack/images', import.meta.url));
let machine: SystemdMachine;

const dataDir = '/run/berth-data';
const command = (...args: string[]) => machine.exec('env', 'BERTH_CONFIG=/run/berth-config', process.execPath, launcher, ...args);
async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await command(...args);
  if (code !== 0) throw new Error(`berth ${args.join(' ')} ended with ${code}: ${stderr || stdout}`);
  return stdout;
}
const etc = async () => (await machine.exec('find', '/etc', '-printf', '%y %p %l %s\\n')).stdout;
const shown = async (unit: string, property: string) =>
  (await machine.exec('systemctl', 'show', '--property', property, '--value', unit)).stdout.trim();

beforeAll(async () => {
  machine = await startSystemdMachine();
  expect((await machine.exec(images)).code).toBe(0);
});
afterAll(() => machine?.destroy());

const pod = `
apiVersion: v1
kind: Secret
metadata: { name: hidden }
stringData: { key: word }
---
apiVersion: v1
kind: Pod
metadata: { name: shut-in }
spec:
  terminationGracePeriodSeconds: 1
  securityContext: { runAsUser: 1000, fsGroup: 2000 }
  containers:
    - name: main
      image: berth/busybox:latest
      command: [sh, -c, 'cp /hidden/key /memory/ && exec httpd -f -p 8090 -h /memory']
      readinessProbe: { httpGet: { port: 8090, path: /key }, periodSeconds: 1 }
      livenessProbe: { exec: { command: [cat, /hidden/key] }, periodSeconds: 1 }
      volumeMounts: [{ name: hidden, mountPath: /hidden }, { name: memory, mountPath: /memory }]
  volumes:
    - { name: hidden, secret: { secretName: hidden } }
    - { name: memory, emptyDir: { medium: Memory } }
`;

it('makes services that are shut in, run pods all the same, are started again, and go without a trace', async () => {
  const before = await etc();
  const installed = await ok('install', 'server', '--data-dir', dataDir, '--node-name', 'shut');
  expect(installed).toContain('ok: berth-server and berth-agent are kept running by systemd and start with the machine');
  for (const unit of ['berth-server', 'berth-agent']) {
    expect(await shown(unit, 'UnitFileState')).toBe('enabled');
    const pid = await shown(unit, 'MainPID');
    const status = (await machine.exec('cat', `/proc/${pid}/status`)).stdout;
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    if (unit === 'berth-server') expect(status).toMatch(/^CapEff:\t0+$/m);
  }

  // Volumes, probes and exec work under the restrictions of the agent's systemd unit.
  await machine.exec('sh', '-c', `cat >/run/pod.yaml <<'END'\n${pod}END`);
  await ok('apply', '-f', '/run/pod.yaml');
  await ok('wait', '--for=condition=Ready', 'pod/shut-in', '--timeout=60s');
  expect(await ok('exec', 'shut-in', '--', 'cat', '/memory/key')).toBe('word');

  const killed = await shown('berth-server', 'MainPID');
  await machine.exec('kill', '-KILL', killed);
  await eventually('a new server', async () => (await command('get', 'pod', 'shut-in')).code === 0 || undefined);
  expect(await shown('berth-server', 'NRestarts')).toBe('1');
  expect(await ok('install', 'server', '--data-dir', dataDir)).toContain('nothing was changed');

  // What cannot start says why, in systemd's journal and here, and what ran before runs again.
  const broken = await command('install', 'server', '--data-dir', dataDir, '--metrics-address', '127.0.0.1:7443');
  expect(broken.stderr).toMatch(/the server does not start: .*7443/);
  expect(broken.stdout).toContain('ok: what ran before runs again, as before');

  expect(await ok('down', '--data-dir', dataDir)).toContain('starts again with it');
  expect(await shown('berth-agent', 'ActiveState')).toBe('inactive');
  await ok('uninstall', '--purge', '--yes', '--data-dir', dataDir);
  expect(await etc()).toBe(before);
  expect((await machine.exec('docker', 'ps', '--all', '--quiet')).stdout).toBe('');
});
