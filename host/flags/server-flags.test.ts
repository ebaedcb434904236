import { Command } from 'commander';
import { expect, it } from 'vitest';
import { kubernetesOf, type ServerTuning, withServerTuning } from './server-flags.ts';

const parse = (...words: string[]): ServerTuning =>
  withServerTuning(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .parse(words, { from: 'user' })
    .opts();

it('serves Kubernetes’ clients at the default address where it is free, at a named one in any case, or nowhere', () => {
  expect(kubernetesOf(parse())).toEqual({ kubernetesListen: '127.0.0.1:6443', kubernetesMayLack: true });
  for (const address of ['127.0.0.1:6443', '0.0.0.0:16443', '[::1]:6443', '127.0.0.1:0'])
    expect(kubernetesOf(parse('--kubernetes-listen', address))).toEqual({ kubernetesListen: address });
  expect(kubernetesOf(parse('--kubernetes-listen', 'off'))).toEqual({});
});

it.each(['6443', 'on', '127.0.0.1', '127.0.0.1:65536', '::1:6443', 'a b:1'])('refuses %j as an address', (text) => {
  expect(() => parse('--kubernetes-listen', text)).toThrow('give HOST:PORT, e.g. 127.0.0.1:6443');
});
