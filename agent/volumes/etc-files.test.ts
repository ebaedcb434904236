import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PodSpec } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { createEtcFiles } from './etc-files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-etc-'));
  mkdirSync(join(folder, 'etc'));
  writeFileSync(join(folder, 'etc/hosts'), '127.0.0.1 localhost\n');
  writeFileSync(join(folder, 'etc/resolv.conf'), 'nameserver 127.0.0.53\n');
  writeFileSync(join(folder, 'stub'), 'nameserver 10.0.0.53\n');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const files = () =>
  createEtcFiles({ podDir: (uid) => join(folder, uid), etc: join(folder, 'etc'), systemdResolvConf: join(folder, 'stub') });
const build = (spec: PodSpec = {}) => pod('web').uid('u1').container('c').spec(spec).build();

describe("a pod's own files in /etc", () => {
  it('are written for it, readable by every user', async () => {
    const { mounts, problems } = await files().ensure(build(), '10.1.1.1');
    expect(problems).toEqual([]);
    const listed = mounts.map(({ containerPath, readOnly }) => `${containerPath} ${readOnly}`);
    expect(listed).toEqual(['/etc/hosts false', '/etc/resolv.conf false']);
    expect(readFileSync(mounts[0]!.hostPath, 'utf8')).toContain('10.1.1.1\tweb\n');
    expect(statSync(mounts[0]!.hostPath).mode & 0o777).toBe(0o644);
    expect(statSync(join(folder, 'u1')).mode & 0o007).toBe(0);
  });

  it('name the servers that systemd asks, not its own resolver', async () => {
    const { mounts } = await files().ensure(build({ dnsConfig: { searches: ['x.example'] } }), '10.1.1.1');
    expect(mounts.map(({ containerPath }) => containerPath)).toEqual(['/etc/hosts', '/etc/resolv.conf']);
    expect(readFileSync(mounts[1]!.hostPath, 'utf8')).toBe('search x.example\nnameserver 10.0.0.53\n');
  });

  it('follow the address of a new sandbox in place, and what a container wrote is gone', async () => {
    const etc = files();
    const path = (await etc.ensure(build(), '10.1.1.1')).mounts[0]!.hostPath;
    const before = statSync(path).ino;
    truncateSync(path, 1e12);
    await Promise.all([etc.ensure(build(), '10.1.1.2'), etc.ensure(build(), '10.1.1.2')]);
    expect([statSync(path).ino, readFileSync(path, 'utf8').includes('10.1.1.2\tweb')]).toEqual([before, true]);
  });

  it('are written anew after a container appended to them', async () => {
    const etc = files();
    const path = (await etc.ensure(build(), '10.1.1.1')).mounts[0]!.hostPath;
    const text = readFileSync(path, 'utf8');
    for (const more of ['x', '\n6.6.6.6\tbank.example\n'.repeat(1_000)]) {
      appendFileSync(path, more);
      await etc.ensure(build(), '10.1.1.1');
      expect(readFileSync(path, 'utf8')).toBe(text);
    }
  });

  it("are none where the machine's do", async () => {
    expect(await files().ensure(build({ hostNetwork: true }), '10.1.1.1')).toEqual({ mounts: [], problems: [] });
  });
});
