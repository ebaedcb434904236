import { describe, expect, it } from 'vitest';
import { negotiate } from './accept.ts';

const all = { transform: true, protobuf: true };

describe('the form of an answer', () => {
  it.each([
    ['', { type: 'json' }],
    ['*/*', { type: 'json' }],
    ['application/json, */*', { type: 'json' }],
    ['application/vnd.kubernetes.protobuf, */*', { type: 'protobuf' }],
    ['application/yaml', { type: 'yaml' }],
    ['application/json;q=0.5,application/yaml', { type: 'yaml' }],
    [
      'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json',
      { type: 'json', as: 'Table' },
    ],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io', { type: 'json', as: 'Table', metaVersion: 'v1beta1' }],
    [
      'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
      { type: 'protobuf', as: 'PartialObjectMetadataList' },
    ],
    ['application/json;as=Chair;v=v1;g=meta.k8s.io,application/json', { type: 'json' }],
    ['application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json', { type: 'json' }],
    ['text/html,application/json;q=0.9', { type: 'json' }],
  ])('of "%s"', (accept, wanted) => {
    expect(negotiate(accept, all)).toEqual(wanted);
  });

  it('is JSON where the object has no protobuf form', () => {
    expect(negotiate('application/vnd.kubernetes.protobuf,application/json', { transform: true, protobuf: false })).toEqual({
      type: 'json',
    });
  });

  it.each(['text/html', 'application/json;q=0', 'application/vnd.kubernetes.protobuf'])('is refused for "%s"', (accept) => {
    expect(() => negotiate(accept, { transform: false, protobuf: false })).toThrow(
      expect.objectContaining({ reason: 'NotAcceptable' }),
    );
  });
});
