import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { createEngine } from './engine.ts';
import { watchEvents } from './events.ts';
import { label } from './labels.ts';

it('the end of a command in a container is told to its waiters, and does not cause a look at the pod', async () => {
  const labels = { [label.podUid]: 'u' };
  const events = [
    { Action: 'exec_die', Actor: { ID: 'c', Attributes: { ...labels, execID: 'e1', exitCode: '3' } }, timeNano: 1e9 },
    { Action: 'exec_die', Actor: { ID: 'c', Attributes: labels }, timeNano: 2e9 },
    { Action: 'die', Actor: { ID: 'c', Attributes: labels }, timeNano: 3e9 },
  ];
  const engine = {
    ...createEngine({ socketPath: '/nowhere' }),
    stream: async () => Readable.from(events.map((event) => Buffer.from(`${JSON.stringify(event)}\n`))),
  };
  const exits: unknown[] = [];
  const changes: unknown[] = [];
  const seen = watchEvents(
    {
      engine,
      nodeName: 'n1',
      list: async () => [],
      onChange: (...change) => changes.push(change),
      onOomKill: () => {},
      onExecExit: (...exit) => exits.push(exit),
      warn: () => {},
    },
    new AbortController().signal,
  );
  expect((await seen.next()).value).toEqual({ podUid: 'u', containerId: 'c' });
  await seen.return(undefined);
  expect(exits).toEqual([['e1', 3]]);
  expect(changes).toEqual([['c', 3000]]);
});
