"use strict";
// Whatever the page carries beside its text is gzipped JSON in base64, in script elements that do not run.
async function unpacked(id) {
  const letters = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
async function unpackedJson(id) {
  return JSON.parse(new TextDecoder().decode(await unpacked(id)));
}
