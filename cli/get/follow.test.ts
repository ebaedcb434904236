import { describe, expect, it } from 'vitest';
import { ApiError } from '../../api/errors/index.ts';
import type { Table } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { ObjectsClient, Scope, TableChange } from '../../client/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { followTable } from './follow.ts';

const row = (version: string): Table => ({ rows: [{ resourceVersion: version, cells: [] }] });
const change = (version: string, type: TableChange['type'] = 'MODIFIED'): TableChange[] => [{ type, table: row(version) }];
const away = () => new ApiError('UNAVAILABLE', 'ServiceUnavailable', 'the server does not answer');
const expired = () => new ApiError('OUT_OF_RANGE', 'Expired', 'list again');

type Step = TableChange[] | Error;

/** A server whose lists and watches go as written, one after the other; notes where each watch begins. */
function createServer(lists: readonly (string | Error)[], watches: readonly (readonly Step[])[]) {
  const from: (string | undefined)[] = [];
  const [listsLeft, watchesLeft] = [[...lists], [...watches]];
  const objects = {
    async listTable() {
      const next = listsLeft.shift();
      if (typeof next !== 'string') throw next ?? new Error('one list too many');
      return { metadata: { resourceVersion: next }, table: row(next) };
    },
    async *watchTable(_kind: string, scope: Scope & { resourceVersion?: string }) {
      from.push(scope.resourceVersion);
      for (const step of watchesLeft.shift() ?? []) {
        if (step instanceof Error) throw step;
        yield step;
      }
    },
  } as unknown as ObjectsClient;
  return { objects, from };
}

/** Follows until a row of this version was seen. */
async function follow(server: ReturnType<typeof createServer>, last: string) {
  const [abort, clock] = [new AbortController(), createFakeClock()];
  const [seen, told]: [string[], string[]] = [[], []];
  const options = { initial: true, clock, onAway: (message: string) => told.push(message) };
  const rows = followTable(server.objects, kindNamed('Pod'), options, abort.signal)[Symbol.asyncIterator]();
  while (seen.at(-1) !== last) {
    let done = false;
    const next = rows.next().finally(() => {
      done = true;
    });
    next.catch(() => {});
    while (!done) await clock.advance(1_000);
    const { value } = await next;
    seen.push(...(value?.rows ?? []).map((each: { resourceVersion?: string }) => each.resourceVersion ?? ''));
  }
  abort.abort();
  return { seen, told };
}

describe('following a table', () => {
  it('goes on behind the last row or bookmark when the server was away, and says so once', async () => {
    const server = createServer(['5'], [[change('6'), away()], [away()], [change('8', 'BOOKMARK')], [change('9')]]);
    const { seen, told } = await follow(server, '9');
    expect(seen).toEqual(['5', '6', '9']);
    expect(server.from).toEqual(['5', '6', '6', '8']);
    expect(told).toEqual(['the server does not answer']);
  });

  it('starts again from the present when what it missed is no longer kept', async () => {
    const server = createServer(['5', '9'], [[change('6'), expired()], [change('10')]]);
    const { seen, told } = await follow(server, '10');
    expect(seen).toEqual(['5', '6', '9', '10']);
    expect(told).toEqual([]);
  });

  it('fails when there is no server at the start', async () => {
    await expect(follow(createServer([away()], []), '1')).rejects.toThrow('does not answer');
  });

  it('fails when it is no longer allowed to look', async () => {
    const server = createServer(['5'], [[new ApiError('PERMISSION_DENIED', 'Forbidden', 'you may not')]]);
    await expect(follow(server, '6')).rejects.toThrow('you may not');
  });
});
