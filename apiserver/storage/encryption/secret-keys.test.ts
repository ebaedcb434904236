import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kindNamed, kinds } from '../../../api/kinds/index.ts';
import { createMemoryStorage } from '../memory/memory-storage.ts';
import type { Storage, Write } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { keyringPath, readKeyring, withNewKey, writeKeyring } from './keyring.ts';
import { sealedWith } from './seal.ts';
import { openSecretKeys } from './secret-keys.ts';

const now = new Date(0);
let dataDir: string;
let storage: Storage;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-keys-'));
  storage = createMemoryStorage();
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const start = () => openSecretKeys({ dataDir, storage, kinds, now });
const write = (text: string, kind = 'Secret'): Write => {
  const by = { user: 'admin', manager: 'test', verb: 'create' };
  return { kind, bytes: Buffer.from(text), ...by, durability: kindNamed('Secret').durability };
};
const path = () => join(dataDir, keyringPath);
const textOf = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();
const idOf = async (key: string) => sealedWith((await storage.get(key))?.bytes ?? new Uint8Array());
const failure = async (call: Promise<unknown>) => {
  const error: unknown = await call.catch((each: unknown) => each);
  if (!(error instanceof StorageError)) throw new Error(`expected a StorageError, got ${String(error)}`);
  return `${error.code}: ${error.message}`;
};
const going = new AbortController().signal;

describe('the keys of Secrets', () => {
  it('are made at the first start, for their owner alone, and found at the next', async () => {
    const first = await start();
    expect((await stat(path())).mode & 0o777).toBe(0o600);
    expect((await stat(join(dataDir, 'secret-keys'))).mode & 0o777).toBe(0o700);
    const text = await readFile(path(), 'utf8');
    expect((await start()).currentId()).toBe(first.currentId());
    expect(await readFile(path(), 'utf8')).toBe(text);
  });

  it('hide Secrets in the store, its history and its events, and nothing else', async () => {
    const keys = await start();
    const first = await keys.storage.create('secrets/a/b', write('swordfish'));
    await keys.storage.update('secrets/a/b', first, write('trout'));
    await keys.storage.create('pods/a/b', write('plain', 'Pod'));
    const raw = [
      (await storage.get('secrets/a/b'))!.bytes,
      ...(await storage.history.writes('secrets/a/b', { limit: 9 })).writes.map(({ bytes }) => bytes),
    ];
    expect(raw.map(sealedWith)).toEqual([keys.currentId(), keys.currentId(), keys.currentId()]);
    expect(raw.some((bytes) => /swordfish|trout/.test(textOf(bytes)))).toBe(false);
    expect(textOf((await storage.get('pods/a/b'))?.bytes)).toBe('plain');
    const seen = (await keys.storage.history.writes('secrets/a/b', { limit: 9 })).writes.map(({ bytes }) => textOf(bytes));
    expect(seen).toEqual(['trout', 'swordfish']);
    for await (const batch of keys.storage.watch({ prefix: 'secrets/', from: first - 1 }, going)) {
      expect(textOf(batch[0]?.bytes)).toBe('swordfish');
      break;
    }
  });

  it('are put onto what was stored before there were any, once', async () => {
    await storage.create('secrets/a/old', write('swordfish'));
    const keys = await start();
    expect(textOf((await keys.storage.get('secrets/a/old'))?.bytes)).toBe('swordfish');
    expect(await keys.rewrite(going)).toBe(1);
    expect(await idOf('secrets/a/old')).toBe(keys.currentId());
    expect(textOf((await keys.storage.get('secrets/a/old'))?.bytes)).toBe('swordfish');
    expect(await keys.rewrite(going)).toBe(0);
  });

  it('are needed at the start: without them, with others and with wrong ones it is refused, and nothing changes', async () => {
    const id = (await start()).currentId();
    const text = await readFile(path(), 'utf8');
    const before = (await storage.list('')).revision;
    await rm(path());
    expect(await failure(start())).toBe(
      `no-key: the Secrets in ${dataDir}/store are encrypted with the key ${id}, and ${path()}, which holds it, is not there: ` +
        'put back the file that belongs to it and try again; nothing was changed',
    );
    await expect(readFile(path())).rejects.toThrow('ENOENT');
    await writeKeyring(dataDir, withNewKey(undefined, now));
    expect(await failure(start())).toContain(`with the key ${id}, which is not in ${path()}`);
    const forged = JSON.parse(text) as { keys: { secret: string }[] };
    forged.keys[0]!.secret = Buffer.alloc(32, 7).toString('base64');
    await writeFile(path(), JSON.stringify(forged), { mode: 0o600 });
    expect(await failure(start())).toContain(`with another key than the ${id} that is in`);
    expect((await storage.list('')).revision).toBe(before);
    await writeFile(path(), text);
    expect((await start()).currentId()).toBe(id);
  });

  it.each([
    ['no JSON', 'it is no JSON'],
    ['{}', 'it holds no keys'],
    ['{"format":1,"current":"x","keys":[]}', 'its current key is missing'],
    ['{"format":1,"current":"x","keys":[{"id":"short"}]}', 'a key has no id'],
    [
      '{"format":1,"current":"x","keys":[{"id":"0123456789abcdef","secret":"c3dvcmRmaXNo"}]}',
      'the key 0123456789abcdef is not 32 bytes long',
    ],
    ['{"format":2}', 'it has format 2: start the newer version of berth that wrote it'],
  ])('are refused from a file with %s, without showing what stands there', async (text, why) => {
    await start();
    await writeFile(path(), text);
    const said = await failure(start());
    expect(said).toContain(`read ${path()}: ${why}`);
    expect(said).not.toContain('c3dvcmRmaXNo');
  });

  it('are refused from a file that others may read', async () => {
    await start();
    await chmod(path(), 0o644);
    expect(await failure(start())).toContain(`others may read it (mode 644): chmod 600 ${path()}`);
  });
});

describe('a rotation', () => {
  it('hides everything with a new key, and everything can be read all the while', async () => {
    const keys = await start();
    const names = Array.from({ length: 100 }, (_, i) => `secrets/a/s${String(i).padStart(3, '0')}`);
    for (const name of names) await keys.storage.create(name, write(name));
    const old = keys.currentId();
    const rotating = keys.rotate(now);
    const reading = Promise.all(names.map(async (name) => textOf((await keys.storage.get(name))?.bytes)));
    expect(await reading).toEqual(names);
    const { keyId, rewritten } = await rotating;
    expect([rewritten, keyId === old, keys.currentId()]).toEqual([100, false, keyId]);
    for (const name of names) expect(await idOf(name)).toBe(keyId);
    expect([...((await readKeyring(dataDir))?.keys.keys() ?? [])]).toEqual([old, keyId]);
    const past = (await keys.storage.history.writes(names[0]!, { limit: 9 })).writes;
    expect(past.map(({ bytes }) => textOf(bytes))).toEqual([names[0], names[0]]);
  });

  it('does not undo a write that comes in between', async () => {
    const keys = await start();
    const revision = await keys.storage.create('secrets/a/b', write('old'));
    const list = storage.list.bind(storage);
    storage.list = async (prefix, options) => {
      const page = await list(prefix, options);
      storage.list = list;
      await keys.storage.update('secrets/a/b', revision, write('new'));
      return page;
    };
    expect((await keys.rotate(now)).rewritten).toBe(0);
    expect(textOf((await keys.storage.get('secrets/a/b'))?.bytes)).toBe('new');
    expect(await idOf('secrets/a/b')).toBe(keys.currentId());
  });

  it('that was cut off is carried on by the next start', async () => {
    const keys = await start();
    for (const name of ['a', 'b']) await keys.storage.create(`secrets/a/${name}`, write(name));
    storage.list = () => Promise.reject(new StorageError('closed', 'stopped'));
    await expect(keys.rotate(now)).rejects.toThrow('stopped');
    delete (storage as { list?: unknown }).list;
    const next = await start();
    expect(next.currentId()).not.toBe(await idOf('secrets/a/a'));
    expect(await next.rewrite(going)).toBe(2);
    expect(await idOf('secrets/a/b')).toBe(next.currentId());
  });

  it('is one at a time', async () => {
    const keys = await start();
    const first = keys.rotate(now);
    expect(await failure(keys.rotate(now))).toContain('busy: another rotation is under way');
    await first;
    await keys.rotate(now);
  });
});
