import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import Docker from 'dockerode';
import { pack } from 'tar-stream';
import { ensureSandboxImage, ownSandboxImage } from '../../agent/pause/sandbox-image.ts';
import { createDockerRuntime, type DockerRuntime } from '../../agent/runtime/docker/docker-runtime.ts';
import type { ContainerConfig, ContainerIdentity, ObservedContainer, SandboxConfig } from '../../agent/runtime/runtime.ts';
import { plainNamespaces, plainSecurity } from '../builders/runtime-config.ts';

/** The image of the tests: busybox with its shell and the usual commands. */
export const testImage = 'berth-test/busybox:1';

export interface RuntimeFixture extends DockerRuntime {
  readonly nodeName: string;
  readonly warnings: string[];
  sandbox(overrides?: Partial<SandboxConfig>): SandboxConfig;
  container(sandbox: ObservedContainer, overrides?: Partial<ContainerConfig>): ContainerConfig;
  /** A pod with one container that runs a shell script. */
  runShell(script: string, overrides?: Partial<ContainerConfig>): Promise<ObservedContainer>;
  /** Removes every container of this node, whatever happened before. */
  cleanUp(): Promise<void>;
}

/** A runtime on the real engine for a node of its own, with both images present. */
export async function createFixture(title: string): Promise<RuntimeFixture> {
  const nodeName = `e2e-${title}-${randomUUID().slice(0, 8)}`;
  const warnings: string[] = [];
  const docker = createDockerRuntime({ nodeName, warn: (message) => warnings.push(message) });
  await ensureSandboxImage(docker.images);
  if ((await docker.images.find(testImage)) === undefined) await docker.images.load(testImage, await busyboxLayer(), []);

  const sandbox = (overrides: Partial<SandboxConfig> = {}): SandboxConfig => ({
    identity: identity(randomUUID(), 'POD'),
    image: ownSandboxImage,
    hostname: 'web',
    hostNetwork: false,
    namespaces: plainNamespaces,
    sysctls: {},
    seLinux: [],
    labels: {},
    namedPorts: [],
    portMappings: [],
    ...overrides,
  });
  const container = (pod: ObservedContainer, overrides: Partial<ContainerConfig> = {}): ContainerConfig => ({
    identity: identity(pod.podUid, 'app'),
    sandboxId: pod.id,
    image: testImage,
    command: ['sleep', '1000'],
    args: undefined,
    workingDir: undefined,
    env: [],
    mounts: [],
    resources: { cpuShares: 0, cpuQuota: 0, memoryBytes: 0 },
    oomScoreAdj: undefined,
    security: plainSecurity,
    namespaces: plainNamespaces,
    tty: false,
    stdin: false,
    stdinOnce: false,
    ...overrides,
  });
  return {
    ...docker,
    nodeName,
    warnings,
    sandbox,
    container,
    async runShell(script, overrides = {}) {
      const pod = await docker.runtime.runSandbox(sandbox());
      return docker.runtime.runContainer(container(pod, { command: ['sh', '-c', script], ...overrides }));
    },
    async cleanUp() {
      await removeAll(nodeName);
      docker.close();
    },
  };
}

export function identity(podUid: string, containerName: string, attempt = 0): ContainerIdentity {
  return { podUid, podName: 'web', podNamespace: 'default', containerName, attempt, specHash: 'abc', gracePeriodSeconds: 30 };
}

// Not through what is tested: a runtime that lists nothing would leave everything behind.
async function removeAll(nodeName: string): Promise<void> {
  const engine = new Docker();
  const left = await engine.listContainers({ all: true, filters: { label: [`io.berth.node=${nodeName}`] } });
  await Promise.all(left.map(({ Id }) => engine.getContainer(Id).remove({ force: true, v: true })));
}

const applets = [
  'sh',
  'cat',
  'sleep',
  'echo',
  'ls',
  'hostname',
  'nc',
  'httpd',
  'wget',
  'seq',
  'id',
  'env',
  'dd',
  'head',
  'tail',
  'stty',
  'wc',
  'true',
  'mount',
  'tr',
  'pwd',
  'touch',
];

export async function busyboxLayer(): Promise<Buffer> {
  const archive = pack();
  archive.entry({ name: 'bin/busybox', mode: 0o755 }, readFileSync('/bin/busybox'));
  for (const applet of applets) archive.entry({ name: `bin/${applet}`, type: 'symlink', linkname: 'busybox' });
  archive.entry({ name: 'tmp', type: 'directory', mode: 0o1777 });
  archive.finalize();
  return buffer(archive);
}

export async function readAll(source: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
