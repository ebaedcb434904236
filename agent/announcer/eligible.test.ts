import { expect, it } from 'vitest';
import { endpoint, port, tableService, terminating } from '../../test/builders/table-service.ts';
import { eligibleFor } from './eligible.ts';

const on = (node: string) => ({ node });
const local = (...endpoints: ReturnType<typeof endpoint>[]) =>
  eligibleFor(tableService('10.43.0.1', [port(80, endpoints)], { externalPolicy: 'Local' }), 'n1', ['n1', 'n2', 'n3']);

it('every node may hold the address of a service with policy Cluster, also one without endpoints', () =>
  expect(eligibleFor(tableService('10.43.0.1', [port(80, [])]), 'n1', ['n1', 'n2'])).toEqual({ here: true, others: ['n2'] }));

it.each([
  ['those with a ready endpoint', [endpoint('10.42.0.1', 80, on('n1')), endpoint('10.42.1.1', 80, on('n2'))], true, ['n2']],
  [
    'not one whose endpoint is not ready',
    [endpoint('10.42.0.1', 80, { ...on('n1'), ready: false }), endpoint('10.42.1.1', 80, on('n2'))],
    ...([false, ['n2']] as const),
  ],
  [
    'not one whose endpoint terminates while another is ready',
    [terminating('10.42.0.1', 80, on('n1')), endpoint('10.42.1.1', 80, on('n2'))],
    ...([false, ['n2']] as const),
  ],
  ['one whose endpoint terminates and is the last', [terminating('10.42.0.1', 80, on('n1'))], true, []],
  ['none without endpoints', [], false, []],
])('with policy Local: %s', (_, endpoints, here, others) => expect(local(...endpoints)).toEqual({ here, others }));
