import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { issueNodeCredentials } from '../main.ts';
import { pkiDir } from './files.ts';
import { ensurePki } from './pki.ts';
import { refuseExposed, tightenFiles } from './private-files.ts';

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

it('refuses a data directory in which other users may replace files', async () => {
  await open();
  await chmod(dataDir, 0o777);
  await expect(open()).rejects.toThrow(`other users may replace them (mode 777): chmod o-w ${dataDir}`);
});

it('refuses keys that belong to another user', async () => {
  await open();
  const other = (process.getuid?.() ?? 0) + 1;
  // As another user would see it; root's own files have no other owner.
  const refused = refuseExposed(dataDir, pkiDir(dataDir), other);
  if (process.getuid?.() === 0) await refused;
  else await expect(refused).rejects.toThrow(`belongs to user ${process.getuid?.()}`);
});

it('takes from others what earlier versions let them read, in its own folders only', async () => {
  const files = ['store/data.mdb', 'store.before-restore-1/data.mdb', 'pki/ca.crt', 'logs/audit.log.1', 'installation.json'];
  const outside = ['node/volume', 'other/file'];
  for (const each of [...files, ...outside]) {
    await mkdir(join(dataDir, each, '..'), { recursive: true });
    await writeFile(join(dataDir, each), '');
    await chmod(join(dataDir, each), 0o664);
  }
  await symlink(join(dataDir, 'other', 'file'), join(dataDir, 'store', 'link'));
  await tightenFiles(dataDir);
  const modeOf = async (each: string) => (await stat(join(dataDir, each))).mode & 0o777;
  for (const each of files) expect([each, await modeOf(each)]).toEqual([each, 0o600]);
  for (const each of outside) expect([each, await modeOf(each)]).toEqual([each, 0o664]);
});

it.each([
  ['ca.key', 'ca.crt'],
  ['ca.crt', 'ca.key'],
])('refuses to start without %s while %s is there, and makes no other authority', async (missing, there) => {
  await open();
  const [path, kept] = [join(pkiDir(dataDir), missing), join(pkiDir(dataDir), there)];
  const before = await readFile(kept, 'utf8');
  const lost = await readFile(path, 'utf8');
  await rm(path);
  await expect(open()).rejects.toThrow(`${path}: it is missing or empty, and ${there} is there: put it back`);
  await expect(issueNodeCredentials(dataDir, 'n1')).rejects.toThrow(path);
  expect(await readFile(kept, 'utf8')).toBe(before);
  await writeFile(path, lost, { mode: 0o600 });
  await open();
});
