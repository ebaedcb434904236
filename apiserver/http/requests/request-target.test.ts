import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { targetOf } from './request-target.ts';

const parsed = ({ pathname, searchParams }: Pick<URL, 'pathname' | 'searchParams'>) => [pathname, [...searchParams]];

describe('the target of a request', () => {
  it('is read as a URL, whatever is in it', () => {
    const part = fc.constantFrom(
      '/',
      '.',
      '..',
      'pods',
      'a-b',
      '_',
      '~',
      '%2e',
      '%zz',
      ':',
      '@',
      '\\',
      '?',
      '&',
      '=',
      '+',
      '#',
      'é',
      "'",
      '"',
      ' ',
      '*',
    );
    const targets = fc.array(part, { maxLength: 8 }).map((parts) => `/${parts.join('')}`);
    const property = fc.property(targets, (target) => {
      expect(parsed(targetOf(target))).toEqual(parsed(new URL(`http://door${target}`)));
    });
    fc.assert(property, { numRuns: 5_000, seed: 12 });
  });

  it.each([
    ['/api/v1/namespaces/a/pods/web-0.b', '/api/v1/namespaces/a/pods/web-0.b', []],
    [
      '/apis/apps/v1/deployments?limit=500&labelSelector=a%3Db',
      '/apis/apps/v1/deployments',
      [
        ['limit', '500'],
        ['labelSelector', 'a=b'],
      ],
    ],
    ['*', '/*', []],
    [undefined, '/', []],
  ])('%s', (target, pathname, query) => {
    expect(parsed(targetOf(target))).toEqual([pathname, query]);
  });
});
