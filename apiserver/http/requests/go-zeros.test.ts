import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../../api/codec/message.ts';
import { messageShape, shapesTo } from '../../../api/codec/message-shapes.ts';
import { requiredFields } from '../../openapi/required-fields.ts';
import { dropGoZeros } from './go-zeros.ts';
import { pointerFieldsOf, pointerMessages } from './pointer-fields.ts';

const dropped = (message: string, object: object): object => {
  const copy = decodeMessage(message, encodeMessage(message, object));
  dropGoZeros(message, copy);
  return copy;
};

describe('the zeros of Go', () => {
  it('are nothing in fields of plain values, at any depth', () => {
    const pod = {
      metadata: { name: 'a', generateName: '', creationTimestamp: {}, generation: 0, labels: { a: '' } },
      spec: {
        ...{ restartPolicy: '', hostNetwork: false, nodeName: '' },
        containers: [{ name: 'c', imagePullPolicy: '', stdin: false, ports: [{ containerPort: 80, hostPort: 0, protocol: '' }] }],
      },
      status: {},
    };
    expect(dropped('berth.core.v1.Pod', pod)).toEqual({
      metadata: { name: 'a', labels: { a: '' } },
      spec: { containers: [{ name: 'c', ports: [{ containerPort: 80 }] }] },
      status: {},
    });
  });

  it('are values in fields that are pointers, and in those that are required', () => {
    const deployment = { spec: { replicas: 0, minReadySeconds: 0, revisionHistoryLimit: 0, paused: false } };
    expect(dropped('berth.apps.v1.Deployment', deployment)).toEqual({ spec: { replicas: 0, revisionHistoryLimit: 0 } });
    const status = { containerStatuses: [{ name: 'c', ready: false, restartCount: 0, started: false, containerID: '' }] };
    expect(dropped('berth.core.v1.PodStatus', status)).toEqual({
      containerStatuses: [{ name: 'c', ready: false, restartCount: 0, started: false }],
    });
  });

  it('are no part of a time, so that one that is sent back is the stored one', () => {
    const at = { seconds: 1_764_277_832, nanos: 0 };
    const object = { metadata: { deletionTimestamp: at, managedFields: [{ manager: 'm', time: at }] } };
    const kept = { seconds: 1_764_277_832 };
    expect(dropped('berth.core.v1.Namespace', object)).toEqual({
      metadata: { deletionTimestamp: kept, managedFields: [{ manager: 'm', time: kept }] },
    });
    const status = { startTime: { ...at, nanos: 5000 }, completionTime: at };
    expect(dropped('berth.batch.v1.JobStatus', status)).toEqual({ startTime: kept, completionTime: kept });
    const lease = { renewTime: { ...at, nanos: 5678 }, acquireTime: at };
    expect(dropped('berth.coordination.v1.LeaseSpec', lease)).toEqual({ renewTime: { ...at, nanos: 5000 }, acquireTime: kept });
  });

  it('of a port of a Service are nothing, and of a maximum a value', () => {
    const service = { spec: { ports: [{ port: 80, targetPort: { type: 0, intVal: 0, strVal: '' }, nodePort: 0 }] } };
    expect(dropped('berth.core.v1.Service', service)).toEqual({ spec: { ports: [{ port: 80 }] } });
    const strategy = { maxSurge: { type: 0, intVal: 0 } };
    expect(dropped('berth.apps.v1.RollingUpdateDeployment', strategy)).toEqual(strategy);
  });
});

it.each(pointerMessages())('%s has the pointers that the table names, and they hold plain values', (message) => {
  const shape = messageShape(message);
  for (const name of pointerFieldsOf(message)) {
    const field = shapesTo(shape, name)?.at(-1);
    expect(field, `${message}.${name}`).toMatchObject({ repeated: false });
    expect(field?.message(), `${message}.${name}`).toBeUndefined();
    // What is required is no pointer, but for what Kubernetes made so by mistake.
    if (!/Webhook$|HTTPIngressPath$/.test(message)) expect(requiredFields(message)).not.toContain(name);
  }
});
