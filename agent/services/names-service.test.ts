import { describe, expect, it } from 'vitest';
import { service } from '../../test/builders/names.ts';
import { createNamesResponder } from '../../test/fakes/names-responder.ts';
import { namesServiceAt } from './names-service.ts';

const names = namesServiceAt('10.43.0.10');

describe("the name of Kubernetes' name servers", () => {
  it('leads to the address of the resolvers, also of a cluster without Services', async () => {
    const changes = [names.snapshot({ kind: 'snapshot', services: [], slices: [], pods: [] })];
    const { ask } = createNamesResponder({ changes });
    expect((await ask('kube-dns.kube-system.svc.cluster.local')).answers).toEqual([
      'kube-dns.kube-system.svc.cluster.local A 5 10.43.0.10',
    ]);
    expect((await ask('_dns-tcp._tcp.kube-dns.kube-system.svc.cluster.local', 'SRV')).answers).toHaveLength(1);
  });

  it('is that of a Service while there is one', async () => {
    const own = service('kube-system/kube-dns', '10.43.0.77');
    const { ask, apply } = createNamesResponder({
      changes: [names.change({ kind: 'snapshot', services: [own], slices: [], pods: [] })],
    });
    const addresses = async () =>
      (await ask('kube-dns.kube-system.svc.cluster.local')).answers.map((each) => each.split(' ').at(-1));
    expect(await addresses()).toEqual(['10.43.0.77']);
    apply(names.change({ kind: 'delete-service', service: own }));
    expect(await addresses()).toEqual(['10.43.0.10']);
    apply(names.change({ kind: 'set-service', service: own }));
    expect(await addresses()).toEqual(['10.43.0.77']);
  });
});
