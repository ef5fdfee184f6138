// Reads the flight service in version 2 with Olingo's library, and changes it in a batch; prints what it
// found as JSON.
//
//     java -cp 'FOLDER/*' Flights2.java URL USER PASSWORD

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.math.BigDecimal;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Base64;
import java.util.Calendar;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TimeZone;
import org.apache.olingo.odata2.api.client.batch.BatchChangeSet;
import org.apache.olingo.odata2.api.client.batch.BatchChangeSetPart;
import org.apache.olingo.odata2.api.client.batch.BatchPart;
import org.apache.olingo.odata2.api.client.batch.BatchQueryPart;
import org.apache.olingo.odata2.api.edm.Edm;
import org.apache.olingo.odata2.api.edm.EdmEntitySet;
import org.apache.olingo.odata2.api.ep.EntityProvider;
import org.apache.olingo.odata2.api.ep.EntityProviderReadProperties;
import org.apache.olingo.odata2.api.ep.EntityProviderWriteProperties;
import org.apache.olingo.odata2.api.ep.entry.ODataEntry;

public class Flights2 {
    static HttpClient client = HttpClient.newHttpClient();
    static String root;
    static String user;

    static HttpResponse<byte[]> ask(HttpRequest.Builder request) throws Exception {
        return client.send(request.header("Authorization", user).build(), BodyHandlers.ofByteArray());
    }

    static InputStream read(String below, String form) throws Exception {
        URI uri = URI.create(root + below);
        var request = HttpRequest.newBuilder(uri).header("Accept", form);
        return new ByteArrayInputStream(ask(request).body());
    }

    static BatchChangeSetPart change(String method, String uri, String name, String body) {
        Map<String, String> headers = new LinkedHashMap<>();
        headers.put("Content-Type", "application/json");
        headers.put("Accept", "application/json");
        return BatchChangeSetPart.method(method).uri(uri).headers(headers).body(body)
            .contentId(name).build();
    }

    static String written(EdmEntitySet set, Map<String, Object> values) throws Exception {
        var properties = EntityProviderWriteProperties.serviceRoot(URI.create(root)).build();
        var response = EntityProvider.writeEntry("application/json", set, values, properties);
        return new String(response.getEntityAsStream().readAllBytes(), "UTF-8");
    }

    public static void main(String[] words) throws Exception {
        root = words[0];
        var proof = (words[1] + ":" + words[2]).getBytes("UTF-8");
        user = "Basic " + Base64.getEncoder().encodeToString(proof);
        var plain = EntityProviderReadProperties.init().build();
        Edm types = EntityProvider.readMetadata(read("$metadata", "application/xml"), false);
        EdmEntitySet flights = types.getDefaultEntityContainer().getEntitySet("FlightCollection");
        EdmEntitySet carriers = types.getDefaultEntityContainer().getEntitySet("CarrierCollection");
        StringJoiner found = new StringJoiner(",", "{", "}");
        StringJoiner sizes = new StringJoiner(",", "[", "]");
        for (String form : List.of("application/json", "application/atom+xml")) {
            var all = EntityProvider.readFeed(form, flights, read("FlightCollection", form), plain);
            sizes.add("" + all.getEntries().size());
        }
        found.add("\"all\":" + sizes);
        String key = "FlightCollection(carrid='AA',connid='0017',fldate=datetime'2011-06-01T00:00:00')";
        ODataEntry flight = EntityProvider.readEntry("application/json", flights,
            read(key + "?$expand=flightCarrier", "application/json"), plain);
        found.add("\"price\":" + flight.getProperties().get("PRICE"));
        ODataEntry carrier = (ODataEntry) flight.getProperties().get("flightCarrier");
        found.add("\"carrier\":\"" + carrier.getProperties().get("CARRNAME") + "\"");
        String page = "FlightCollection?$filter=carrid%20eq%20'LH'&$orderby=PRICE%20desc&$top=2"
            + "&$inlinecount=allpages";
        var dear = EntityProvider.readFeed("application/json", flights,
            read(page, "application/json"), plain);
        found.add("\"dear\":" + dear.getEntries().size());
        found.add("\"lufthansa\":" + dear.getFeedMetadata().getInlineCount());

        Map<String, Object> airline = new LinkedHashMap<>();
        airline.put("carrid", "ZO");
        airline.put("CARRNAME", "Olingo Air");
        airline.put("CURRCODE", "EUR");
        airline.put("URL", "http://o");
        Calendar day = Calendar.getInstance(TimeZone.getTimeZone("UTC"));
        day.clear();
        day.set(2026, Calendar.JUNE, 1);
        Map<String, Object> trip = new LinkedHashMap<>(flight.getProperties());
        trip.remove("flightCarrier");
        trip.put("carrid", "ZO");
        trip.put("fldate", day);
        trip.put("PRICE", new BigDecimal("123.45"));
        BatchChangeSet set = BatchChangeSet.newBuilder().build();
        set.add(change("POST", "CarrierCollection", "1", written(carriers, airline)));
        set.add(change("POST", "$1/carrierFlights", "2", written(flights, trip)));
        set.add(change("MERGE", "$2", "3", "{\"SEATSOCC\":5}"));
        BatchChangeSet refused = BatchChangeSet.newBuilder().build();
        refused.add(change("DELETE", "CarrierCollection('LH')", "4", ""));
        BatchPart query = BatchQueryPart.method("GET")
            .uri("CarrierCollection('ZO')/carrierFlights/$count").build();
        String boundary = "batch_olingo";
        InputStream body =
            EntityProvider.writeBatchRequest(List.<BatchPart>of(set, refused, query), boundary);
        var request = HttpRequest.newBuilder(URI.create(root + "$batch"))
            .header("Content-Type", "multipart/mixed; boundary=" + boundary)
            .POST(BodyPublishers.ofByteArray(body.readAllBytes()));
        var answer = ask(request);
        found.add("\"batch\":" + answer.statusCode());
        var parts = EntityProvider.parseBatchResponse(new ByteArrayInputStream(answer.body()),
            answer.headers().firstValue("content-type").get());
        StringJoiner codes = new StringJoiner(",", "[", "]");
        for (var part : parts) {
            codes.add("\"" + part.getStatusCode() + " " + part.getContentId() + "\"");
        }
        found.add("\"parts\":" + codes);
        found.add("\"flights\":" + parts.get(parts.size() - 1).getBody().trim());
        var made = EntityProvider.readFeed("application/json", flights,
            read("CarrierCollection('ZO')/carrierFlights", "application/json"), plain);
        var one = made.getEntries().get(0).getProperties();
        found.add("\"made\":\"" + one.get("PRICE") + " " + one.get("SEATSOCC") + " "
            + one.get("cityTo") + "\"");
        System.out.println(found);
    }
}
