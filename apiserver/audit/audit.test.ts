import { expect, it } from 'vitest';
import { invalid, permissionDenied, required } from '../../api/errors/index.ts';
import { Audit, type AuditedCall } from './audit.ts';

const attributes = { verb: 'create', group: 'apps', resource: 'deployments', subresource: '', namespace: 'team', name: 'web' };
const call: AuditedCall = {
  identity: { user: 'anna', groups: ['dev'] },
  caller: 'anna',
  requestId: 'r-1',
  manager: 'berth-cli',
};

function audit(level: 'Metadata' | 'RequestResponse') {
  const lines: string[] = [];
  let at = Date.parse('2026-01-02T03:04:05.678Z');
  const log = new Audit({ refusals: true, rules: [{ level }] }, { add: (line) => void lines.push(line) }, () => {
    at += 5;
    return new Date(at);
  });
  return { log, lines, entries: () => lines.map((line) => JSON.parse(line)) };
}

it('writes a line with what there is, in a fixed order, and leaves out what is empty', () => {
  const { log, lines } = audit('Metadata');
  const access = log.begin(call, attributes);
  expect([access?.wantsRequest, access?.wantsResponse]).toEqual([false, false]);
  access?.ended();
  log.begin({ ...call, caller: 'root' }, { ...attributes, group: '', subresource: 'scale', namespace: '', name: '' })?.begun();
  expect(lines).toEqual([
    '{"time":"2026-01-02T03:04:05.683Z","level":"Metadata","stage":"ended","requestId":"r-1","user":"anna","groups":["dev"],' +
      '"verb":"create","group":"apps","resource":"deployments","namespace":"team","name":"web","manager":"berth-cli","code":"OK","ms":5}',
    '{"time":"2026-01-02T03:04:05.693Z","level":"Metadata","stage":"begun","requestId":"r-1","user":"anna","groups":["dev"],"by":"root",' +
      '"verb":"create","resource":"deployments","subresource":"scale","manager":"berth-cli"}',
  ]);
});

it('writes down why a call was refused, and what was sent and answered where the policy says so', () => {
  const { log, entries } = audit('RequestResponse');
  log.beginRefused(call, attributes)?.ended(permissionDenied('anna may not'));
  const access = log.begin(call, attributes);
  access?.request({ spec: { replicas: 2 } });
  access?.response({ large: 'x'.repeat(70_000) });
  access?.ended();
  expect(entries()).toMatchObject([
    { level: 'Metadata', code: 'PERMISSION_DENIED', message: 'anna may not' },
    { level: 'RequestResponse', code: 'OK', requestObject: { spec: { replicas: 2 } }, responseObject: 'left out: 70012 bytes' },
  ]);
});

it('cannot be made to say something else by what a client sends', () => {
  const { log, entries } = audit('Metadata');
  const evil = 'x","user":"nobody\n{"a":"\u2028';
  const identity = { user: evil, groups: [evil] };
  log
    .begin({ identity, caller: evil, requestId: evil, manager: evil }, { ...attributes, verb: evil, resource: evil, name: evil })
    ?.ended();
  expect(entries()).toMatchObject([
    { user: evil, groups: [evil], requestId: evil, manager: evil, verb: evil, resource: evil, name: evil },
  ]);
});

it('is not filled by one who is refused again and again, nor by long names', () => {
  const { log, entries } = audit('Metadata');
  const evil = { ...attributes, namespace: 'x'.repeat(100_000) };
  for (let i = 0; i < 2_000; i++) log.begin(call, evil)?.ended(permissionDenied(evil.namespace));
  expect(entries()).toHaveLength(500);
  expect(JSON.stringify(entries().at(-1)).length).toBeLessThan(6_000);
  expect(entries().map(({ moreRefused }) => moreRefused)).toEqual([...Array(499).fill(undefined), true]);
  log.begin(call, attributes)?.ended();
  log.begin({ ...call, caller: 'bert' }, attributes)?.ended(permissionDenied('bert may not'));
  expect(entries().slice(500)).toMatchObject([{ code: 'OK' }, { code: 'PERMISSION_DENIED' }]);
});

it('writes 500 refusals of each kind that a user gets, and earlier and other lines survive a flood of them', () => {
  const { log, lines, entries } = audit('RequestResponse');
  log.begin({ ...call, caller: 'bert' }, attributes)?.ended();
  for (let i = 0; i < 24_000; i++) {
    const access = log.begin(call, { ...attributes, name: 'x'.repeat(4_096) });
    access?.request({ data: 'x'.repeat(60_000) });
    access?.ended(invalid({ kind: 'Pod', name: 'x' }, [required(`spec.${'x'.repeat(10_000)}`)]));
  }
  log.begin(call, attributes)?.ended(permissionDenied('anna may not'));
  const codes = entries().map(({ code }) => code as string);
  expect([codes[0], codes.at(-1), codes.length]).toEqual(['OK', 'PERMISSION_DENIED', 502]);
  expect(entries()[500]).toMatchObject({ moreRefused: true });
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(3_000);
});

it('bounds what a line says of a caller in many groups', () => {
  const { log, lines } = audit('Metadata');
  const groups = Array.from({ length: 10_000 }, (_, i) => `group-${i}`);
  log.begin({ ...call, identity: { user: 'anna', groups }, manager: 'm'.repeat(100_000) }, attributes)?.ended();
  expect(JSON.parse(lines[0]!)).toMatchObject({ user: 'anna', groups: ['(10000 groups)'] });
  expect(lines[0]!.length).toBeLessThan(2_000);
});

it('writes 500 reads of a user, with the begin of streams, tells how many were left out, and earlier lines survive', () => {
  const { log, entries } = audit('Metadata');
  const read = { ...attributes, verb: 'get', group: '', resource: 'secrets' };
  log.begin(call, attributes)?.ended();
  for (let i = 0; i < 10_000; i++) log.begin(call, read)?.ended();
  expect(entries()).toHaveLength(501);
  expect(entries()[500]).toMatchObject({ verb: 'get', code: 'OK', moreReads: true });
  const stream = log.begin(call, { ...read, verb: 'watch' });
  stream?.begun();
  stream?.ended();
  log.begin(call, read)?.ended(permissionDenied('anna may not'));
  log.begin({ ...call, caller: 'bert' }, read)?.ended();
  log.begin(call, attributes)?.ended();
  expect(entries().slice(501)).toMatchObject([{ code: 'PERMISSION_DENIED' }, { verb: 'get' }, { verb: 'create' }]);
  log.tellLeftOut();
  const since = entries()[1].time;
  expect(entries().at(-1)).toEqual({ time: expect.any(String), user: 'anna', sort: 'reads', leftOut: 9_501, since });
});

it('tells of lines that were left out before the next line once their ten minutes are over', () => {
  const { log, entries } = audit('Metadata');
  const list = { ...attributes, verb: 'list' };
  for (let i = 0; i < 600; i++) log.begin(call, list)?.begun();
  expect(entries()).toHaveLength(500);
  for (let i = 0; i < 120_000; i++) log.timeMs();
  log.begin(call, list)?.ended();
  expect(entries().slice(500)).toMatchObject([
    { user: 'anna', leftOut: 100 },
    { verb: 'list', code: 'OK' },
  ]);
});
