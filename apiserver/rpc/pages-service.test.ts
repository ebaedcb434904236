import pino from 'pino';
import { expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { createPages } from './pages-service.ts';

function open(get: () => Promise<undefined> = async () => undefined, stopping = new AbortController().signal) {
  const lines: string[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
  const pages = createPages({
    metrics: new MetricsRegistry(),
    storage: { get },
    stopping,
    log,
    kubernetesAddresses: () => ['127.0.0.1:6443'],
  });
  return { page: async (path: string, verbose = false) => pages.get(path)?.(verbose), lines };
}

it('says ok, and with verbose which checks have passed', async () => {
  const { page } = open();
  expect(await page('/healthz')).toMatchObject({ status: 200, text: 'ok' });
  expect(await page('/livez', true)).toMatchObject({ text: '[+]ping ok\n[+]storage ok\nlivez check passed\n' });
  expect(await page('/readyz', true)).toMatchObject({ text: '[+]ping ok\n[+]storage ok\n[+]shutdown ok\nreadyz check passed\n' });
  expect(await page('/metrics')).toMatchObject({ status: 200, contentType: 'text/plain; version=0.0.4; charset=utf-8' });
});

it('names what fails also without verbose, and logs why', async () => {
  const { page, lines } = open(() => Promise.reject(new Error('/var/store is gone')));
  const { status, text = '' } = (await page('/readyz')) ?? {};
  expect(status).toBe(500);
  expect(text).toBe(
    '[+]ping ok\n[-]storage failed: reason withheld, the log of the server has it\n[+]shutdown ok\nreadyz check failed\n',
  );
  expect(lines.join('')).toMatch(/"check":"storage".*\/var\/store is gone/);
});

it('is alive but not ready while it stops', async () => {
  const { page } = open(undefined, AbortSignal.abort());
  expect(await page('/livez')).toMatchObject({ status: 200, text: 'ok' });
  expect(await page('/readyz')).toMatchObject({ status: 500, text: expect.stringContaining('[-]shutdown failed') });
});

it('tells the version of the server', async () => {
  const { status, contentType, text = '' } = (await open().page('/version')) ?? {};
  expect([status, contentType]).toEqual([200, 'application/json']);
  const info = JSON.parse(text);
  expect(info.gitVersion).toMatch(/^v\d+\.\d+\.\d+/);
  expect(info.gitVersion).toBe(`v${info.major}.${info.minor}.${info.gitVersion.split('.').slice(2).join('.')}`);
  expect(info.kubernetesAddresses).toEqual(['127.0.0.1:6443']);
  expect(info).toMatchObject({ nodeVersion: process.version, platform: expect.stringMatching(/^linux\/[a-z0-9]+$/) });
});
