import fc from 'fast-check';
import { expect, it } from 'vitest';
import { endpoint, port, tableService, terminating } from '../../test/builders/table-service.ts';
import { computeServiceContent, type TableElement } from './compute-elements.ts';
import { nameOfChain } from './layout.ts';
import { renderDifference, renderInChunks } from './render-difference.ts';
import type { TableService } from './service.ts';
import { type ContentDifference, WantedContent } from './wanted-content.ts';

/** What nft does with transactions: it refuses elements and chains that are there already, or missing, or in use. */
class NftModel {
  readonly elements = new Map<string, string>();
  readonly chains = new Set<string>();

  apply({ removed, added, removedChains, addedChains }: ContentDifference): void {
    for (const element of removed) {
      expect(this.elements.get(id(element))).toBe(element.value);
      this.elements.delete(id(element));
    }
    for (const spread of removedChains) {
      const name = nameOfChain(spread);
      expect([...this.elements.values()]).not.toContain(`goto ${name}`);
      expect(this.chains.delete(name)).toBe(true);
    }
    for (const spread of addedChains) {
      expect(this.chains.has(nameOfChain(spread))).toBe(false);
      this.chains.add(nameOfChain(spread));
    }
    for (const element of added) {
      expect(this.elements.has(id(element))).toBe(false);
      const chain = /^goto (.*_\d+)$/.exec(element.value)?.[1];
      if (chain !== undefined && !/^address_any_([1-9]|1[0-6])$/.test(chain)) expect([...this.chains]).toContain(chain);
      this.elements.set(id(element), element.value);
    }
  }

  content() {
    return { elements: new Map([...this.elements].sort()), chains: [...this.chains].sort() };
  }
}

const id = (element: TableElement): string => `${element.set} ${element.key}`;

const anEndpoint = fc
  .record({
    last: fc.integer({ min: 1, max: 25 }),
    ready: fc.boolean(),
    ending: fc.boolean(),
    node: fc.constantFrom('node1', 'node2'),
  })
  .map(({ last, ready, ending, node }) =>
    ending ? terminating(`10.42.0.${last}`, 8080, { node }) : endpoint(`10.42.0.${last}`, 8080, { ready, node }),
  );
const aPort = fc
  .record({
    number: fc.constantFrom(80, 81),
    endpoints: fc.array(anEndpoint, { maxLength: 25 }),
    protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
    nodePort: fc.constantFrom(undefined, 30_080, 30_081),
  })
  .map(({ number, endpoints, protocol, nodePort }) => port(number, endpoints, { protocol, nodePort }));
// Few addresses, so that Services often want the same.
const aService: fc.Arbitrary<TableService> = fc
  .record({
    address: fc.constantFrom('10.43.0.1', '10.43.0.2'),
    ports: fc.array(aPort, { maxLength: 3 }),
    externalAddresses: fc.subarray(['198.51.100.1', '10.43.0.1']),
    affinitySeconds: fc.constantFrom(undefined, undefined, 10, 20),
    internalPolicy: fc.constantFrom('Cluster' as const, 'Local' as const),
    externalPolicy: fc.constantFrom('Cluster' as const, 'Local' as const),
  })
  .map(({ address, ports, ...more }) => tableService(address, ports, more));
const aChange = fc.tuple(fc.constantFrom('a/1', 'a/2', 'a/3'), fc.option(aService, { nil: undefined }));

const settings = { node: 'node1', podRanges: ['10.42.0.0/16'], serviceRanges: ['10.43.0.0/16'] };
const contentOf = (service: TableService | undefined) => service && computeServiceContent(service, settings);

it('comes to the same content by differences, in any batches, as when built at once', () => {
  fc.assert(
    fc.property(fc.array(fc.array(aChange, { minLength: 1, maxLength: 4 }), { maxLength: 12 }), (batches) => {
      const stepwise = new NftModel();
      const wanted = new WantedContent();
      for (const batch of batches) stepwise.apply(wanted.apply(batch.map(([key, service]) => [key, contentOf(service)])));
      const last = new Map(batches.flat());
      const atOnce = new NftModel();
      const fresh = new WantedContent();
      atOnce.apply(fresh.apply([...last].reverse().map(([key, service]) => [key, contentOf(service)])));
      expect(stepwise.content()).toEqual(atOnce.content());
      const rebuilt = new NftModel();
      rebuilt.apply(wanted.whole());
      expect(rebuilt.content()).toEqual(atOnce.content());
    }),
    { numRuns: 100 },
  );
});

it('changes a handful of elements when one endpoint comes, and nothing when nothing changed', () => {
  const wanted = new WantedContent();
  const web = (...last: number[]) =>
    contentOf(
      tableService('10.43.0.1', [
        port(
          80,
          last.map((each) => endpoint(`10.42.0.${each}`)),
        ),
      ]),
    );
  wanted.apply([['a/web', web(1, 2)]]);
  const difference = wanted.apply([['a/web', web(1, 2, 3)]]);
  expect(renderDifference('T', difference)).toBe(
    'delete element ip T services { 10.43.0.1 . tcp . 80 }; ' +
      'add element ip T services { 10.43.0.1 . tcp . 80 : goto address_any_3 }; ' +
      'add element ip T endpoints { 10.43.0.1 . tcp . 80 . 2 : 10.42.0.3 . 8080 }; ' +
      'add element ip T hairpin { 10.42.0.3 . 10.42.0.3 }',
  );
  expect(renderDifference('T', wanted.apply([['a/web', web(1, 2, 3)]]))).toBe('');
});

it('makes a chain for many endpoints before the element that names it, and deletes it after', () => {
  const wanted = new WantedContent();
  const many = Array.from({ length: 17 }, (_, index) => endpoint(`10.42.0.${index + 1}`));
  const added = renderDifference('T', wanted.apply([['a/web', contentOf(tableService('10.43.0.1', [port(80, many)]))]]));
  expect(added.indexOf('add chain ip T address_any_17; add rule')).toBe(0);
  const removed = renderDifference('T', wanted.apply([['a/web', undefined]]));
  expect(removed.indexOf('delete chain ip T address_any_17')).toBeGreaterThan(removed.indexOf('delete element ip T services'));
});

it('builds in transactions of a bounded number of elements, chains first', () => {
  const wanted = new WantedContent();
  const many = Array.from({ length: 20 }, (_, index) => endpoint(`10.42.1.${index + 1}`, 80, { node: 'node2' }));
  wanted.apply([['a/web', contentOf(tableService('10.43.0.1', [port(80, many)]))]]);
  const chunks = [...renderInChunks('T', wanted.whole(), 8)];
  expect(chunks[0]).toMatch(/^add chain ip T address_any_20/);
  expect(chunks.slice(1).map((chunk) => chunk.split(', ').length + chunk.split('; ').length - 1)).toEqual([8, 8, 5]);
});

it('gives an element that several name to what was given out, whatever their keys are', () => {
  const wanted = new WantedContent();
  const parts = { clusterAddresses: [], externalAddresses: ['198.51.100.1'] };
  const taker = tableService('10.43.0.1', [port(80, [endpoint('10.42.0.9')])], parts);
  const holder = tableService('10.43.0.1', [port(80, [endpoint('10.42.0.1'), endpoint('10.42.0.2')])], {
    ...{ clusterAddresses: [], loadBalancerAddresses: ['198.51.100.1'] },
  });
  wanted.apply([
    ['a/taker', contentOf(taker)],
    ['b/holder', contentOf(holder)],
  ]);
  const found = wanted.whole().added.filter(({ set }) => set === 'services');
  expect(found.map(({ value }) => value)).toEqual(['goto address_any_2']);
});
