import type { ReplicationController } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { ControllerDefinition } from '../definition.ts';
import { namespaceIndexers, ownedIndexers } from '../owned-pods/pod-index.ts';
import { createReplicaController } from '../replica-set/controller.ts';
import { rule, writeStatus } from '../rules.ts';

export const replicationController: ControllerDefinition = {
  name: 'replicationcontroller',
  component: 'replication-controller',
  rules: [rule(['create'], '', 'pods'), writeStatus('', 'replicationcontrollers')],
  watches: {
    ReplicationController: { whole: true, indexers: { ...ownedIndexers, ...namespaceIndexers } },
    Pod: { indexers: ownedIndexers },
    ResourceQuota: { whole: true },
  },
  create(context) {
    const kind = kindNamed('ReplicationController');
    return createReplicaController<ReplicationController>({
      name: 'replicationcontroller',
      kind,
      view: ({ metadata = {}, spec, status = {} }) => ({
        metadata,
        replicas: spec?.replicas ?? 1,
        minReadySeconds: spec?.minReadySeconds ?? 0,
        selector: spec?.selector && { matchLabels: spec.selector },
        template: spec?.template ?? {},
        status,
        countsTerminating: false,
      }),
      withStatus: (object, status) => ({ ...object, status }),
      context,
      informer: context.informer('ReplicationController'),
      pods: context.informer('Pod'),
      client: context.client.resource(kind),
      writes: context.writer.resource('ReplicationController'),
    });
  },
};
