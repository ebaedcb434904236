import { expect, it } from 'vitest';
import type { Engine } from './engine.ts';
import { ContainerFiles } from './files.ts';
import type { Inspection } from './observe.ts';

it('a path that no kernel takes is refused before the engine is asked for each of its parts', async () => {
  const calls: unknown[] = [];
  const answer = (request: unknown) => {
    calls.push(request);
    return Promise.reject(new Error('asked'));
  };
  const engine = { call: answer, stream: answer } as unknown as Engine;
  const container = { Id: 'c1', Config: { WorkingDir: '/work' }, State: { Pid: 0 } } as Inspection;
  const { signal } = new AbortController();
  const files = new ContainerFiles(engine, container);
  const long = `a${'/b'.repeat(2_100)}`;
  await expect(files.stat(long, signal)).rejects.toThrow('too long for Linux');
  await expect(files.read(long, signal)).rejects.toMatchObject({ code: 'invalid' });
  expect(calls).toEqual([]);
  await expect(files.stat('a/b', signal)).rejects.toThrow('asked');
});
