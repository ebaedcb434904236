import { expect, it } from 'vitest';
import { pod } from '../../test/builders/index.ts';
import { imagesOf } from './wiring.ts';

it('a pod names the images of all its containers, also of those that were added to look into it', () => {
  const containers = [{ name: 'c', image: 'main' }, { name: 'd' }];
  const ephemeralContainers = [{ ephemeralContainerCommon: { name: 'e', image: 'tools' } }];
  const made = pod('p').spec({ initContainers: [{ name: 'i', image: 'init' }], containers, ephemeralContainers });
  expect(imagesOf(made.build())).toEqual(['init', 'main', 'tools']);
});
