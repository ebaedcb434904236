import { expect, it } from 'vitest';
import { type HandlerEntry, RuntimeHandlers, seesLaterInterfaces } from './runtime-handlers.ts';

const says = (namespaces: readonly string[]) => ({
  'org.opencontainers.runtime-spec.features': JSON.stringify({ ociVersionMax: '1.2.0', linux: { namespaces } }),
});

it.each<[string, HandlerEntry | undefined, boolean]>([
  ['runc', { path: 'runc' }, true],
  ['io.containerd.runc.v2', { path: 'runc' }, true],
  ['io.containerd.runc.v2', undefined, true],
  ['io.containerd.runtime.v1.linux', { path: 'runc' }, true],
  ['fast', { path: '/usr/bin/crun' }, true],
  ['gpu', { path: '/usr/bin/nvidia-container-runtime' }, true],
  ['own', { path: '/opt/own', status: says(['mount', 'network']) }, true],
  ['own', { path: '/opt/own', status: says(['mount']) }, false],
  ['own', { path: '/opt/own', status: { 'org.opencontainers.runtime-spec.features': '{' } }, false],
  ['own', { path: '/opt/own' }, false],
  ['runsc', { path: '/usr/local/bin/runsc', status: says(['network']) }, false],
  ['gvisor', { runtimeType: 'io.containerd.runsc.v1' }, false],
  ['kata', { runtimeType: 'io.containerd.kata.v2' }, false],
  ['io.containerd.kata-qemu.v2', undefined, false],
  ['unknown', undefined, false],
])('%s (%j) sees interfaces that come later: %s', (name, entry, expected) => {
  expect(seesLaterInterfaces(name, entry)).toBe(expected);
});

it('says why a pod is refused, and reads the configuration again for handlers, and after the engine was away', async () => {
  let [now, reads] = [0, 0];
  const runtimes: Record<string, HandlerEntry> = { runc: { path: 'runc' }, vm: { path: 'kata-runtime' } };
  const read = async () => {
    reads++;
    return { Runtimes: { ...runtimes }, DefaultRuntime: 'runc' };
  };
  const handlers = new RuntimeHandlers(read, () => now);
  await handlers.requireJoinable(undefined);
  await expect(handlers.requireJoinable('vm')).rejects.toMatchObject({
    code: 'invalid',
    message: expect.stringContaining('the runtime "vm" of the pod\'s RuntimeClass reads its network when it starts'),
  });
  await expect(handlers.requireJoinable('io.containerd.kata.v2')).rejects.toThrow("of the pod's RuntimeClass reads its network");
  await handlers.requireJoinable('io.containerd.runc.v2');
  runtimes.vm = { path: 'crun' };
  now = 10_000;
  await handlers.requireJoinable('vm');
  now = 1e9;
  await handlers.requireJoinable(undefined);
  expect(reads).toBe(2);
  handlers.forget();
  await handlers.requireJoinable(undefined);
  expect(reads).toBe(3);
});

it('says that the engine does not have a runtime', async () => {
  const handlers = new RuntimeHandlers(async () => ({ Runtimes: { runc: { path: 'runc' } }, DefaultRuntime: 'runc' }));
  await expect(handlers.requireJoinable('docker')).rejects.toMatchObject({
    code: 'invalid',
    message: 'the engine has no runtime "docker", which the pod\'s RuntimeClass names',
  });
});

it("refuses pods without a RuntimeClass where the engine's default is such a runtime", async () => {
  const handlers = new RuntimeHandlers(async () => ({ Runtimes: { runsc: { path: 'runsc' } }, DefaultRuntime: 'runsc' }));
  await expect(handlers.requireJoinable(undefined)).rejects.toThrow('"runsc", which is the engine\'s default, reads');
});
