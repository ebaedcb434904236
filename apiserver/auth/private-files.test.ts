import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { issueNodeCredentials } from '../main.ts';
import { ensurePki, pkiDir } from './pki.ts';
import { refuseExposed } from './private-files.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-private-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const open = () => ensurePki(dataDir, [], () => new Date());

it('takes a data directory as the server makes it', async () => {
  await open();
  await open();
  await issueNodeCredentials(dataDir, 'n1');
});

it.each(['ca.key', 'server.key', 'admin.token', 'tokens'])(
  'refuses a %s that others may read, and says how to mend it',
  async (name) => {
    await open();
    const path = join(pkiDir(dataDir), name);
    await chmod(path, 0o644);
    await expect(open()).rejects.toThrow(`(mode 644): chmod 600 ${path}`);
    await expect(issueNodeCredentials(dataDir, 'n1')).rejects.toThrow(path);
    await chmod(path, 0o600);
    await open();
  },
);

it('names all at once, and the keys that sign tokens', async () => {
  await open();
  await chmod(join(pkiDir(dataDir), 'ca.key'), 0o640);
  const key = join(pkiDir(dataDir), 'service-accounts', '7.key');
  await writeFile(key, '', { mode: 0o600 });
  await chmod(key, 0o604);
  await expect(open()).rejects.toThrow(/ca\.key .*mode 640.*; .*7\.key .*mode 604/);
});

it('refuses a data directory in which anybody may exchange files', async () => {
  await open();
  await chmod(dataDir, 0o777);
  await expect(open()).rejects.toThrow(`anybody may exchange what is in it (mode 777): chmod o-w ${dataDir}`);
});

it('refuses keys that belong to somebody else', async () => {
  await open();
  const other = (process.getuid?.() ?? 0) + 1;
  // As another user would see it; root's own files are nobody else's.
  const refused = refuseExposed(dataDir, pkiDir(dataDir), other);
  if (process.getuid?.() === 0) await refused;
  else await expect(refused).rejects.toThrow(`belongs to user ${process.getuid?.()}`);
});
